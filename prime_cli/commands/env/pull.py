"""`prime env pull`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    VersionOpt,
    at_version,
    open_session,
)
from prime_cli.core.completion_cache import remember
from prime_cli.envs.names import resolve_name
from prime_cli.envs.pull import pull_sources


def pull(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="The environment.")
    ],
    target: Annotated[
        Path | None,
        typer.Option("--target", "-t", metavar="FOLDER", help="The folder to put its files into."),
    ] = None,
    version: VersionOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Fetch the sources of an environment.

    They go to ./environments/NAME where there is an ./environments, else to ./NAME, and never
    into a folder that is there already unless `--target` names it.

    \b
    Example:
      prime env pull starter/alphabet-sort
      prime env pull ada/wordle@0.1.0 --target wordle
    \b
    See also: `prime env inspect`, `prime env upload`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    ref = at_version(resolve_name(session.hub, environment, progress=session.progress), version)
    pulled = pull_sources(
        session.hub,
        ref,
        folder=Path(),
        target=target,
        home=session.config.home.value,
        progress=session.progress,
    )
    remember("environments", [pulled.ref.slug])
    record = {
        "environment": pulled.ref.slug,
        "version": pulled.ref.version,
        "path": str(pulled.path),
        "content_hash": pulled.content_hash,
        "files": pulled.files,
    }
    session.output.done(
        f"Pulled {pulled.ref} into {pulled.path} ({len(pulled.files)} files)", value=record
    )
    session.output.hint(f"run it with `prime eval run {pulled.path}`")
