"""`prime env build`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.digests import digest_file
from prime_cli.envs.build import DIST, build_checked
from prime_cli.envs.project import find_project, load_project


def build(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[FOLDER|PROJECT]", help="A folder, or a name below ./environments."
        ),
    ] = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out-dir", metavar="FOLDER", help="Where the wheel goes.", show_default="FOLDER/dist"
        ),
    ] = None,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not import the wheel in a clean interpreter.")
    ] = False,
    offline: OfflineOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Build a wheel and check that it can be used.

    \b
    Example:
      prime env build my-env
      prime env build ./my_env --out-dir wheels --no-check
    \b
    See also: `prime env upload`, `prime env install`.
    """
    session = open_session(ctx, output=output, quiet=quiet, offline=offline)
    project = load_project(find_project(target, Path.cwd()))
    wheel, facts = build_checked(
        project,
        out_dir or project.root / DIST,
        session.progress,
        check=not no_check,
        offline=session.config.offline,
    )
    record = {
        "name": facts.name,
        "version": facts.version,
        "path": str(wheel),
        "sha256": digest_file(wheel),
        "size": wheel.stat().st_size,
        "module": facts.module,
        "generation": facts.exposes,
        "files": list(facts.members),
    }
    session.output.done(f"Built {wheel}", value=record)
    session.output.hint(
        f"publish it with `prime env upload {target}`"
        if target
        else "publish it with `prime env upload`"
    )
