"""`prime env init` and `prime env build`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS, WRITES
from prime_cli.commands.options import OFFLINE, ForceOpt, local_options, open_session
from prime_cli.core.archive.source_analysis import Generation
from prime_cli.core.digests import digest_file
from prime_cli.envs.project.build import DIST, build_checked
from prime_cli.envs.project.folder import ENVIRONMENTS, find_project, load_project
from prime_cli.envs.project.scaffold import TemplateKind, only_readme, plan_scaffold, write_scaffold


class NewProject(msgspec.Struct, frozen=True):
    """The project that was created, with the files that were written."""

    name: str
    module: str
    path: str
    files: list[str]


@local_options(answer=NewProject, effects=WRITES)
def init(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The environment's name, such as my-env.")],
    template: Annotated[
        TemplateKind, typer.Option("--template", help="What the model has to do.")
    ] = TemplateKind.SINGLE_TURN,
    v1: Annotated[
        bool,
        typer.Option(
            "--v1/--v0", help="For verifiers 0.4, or a load_environment of earlier releases."
        ),
    ] = True,
    multi_file: Annotated[
        bool, typer.Option("--multi-file", help="With `--v0`: a package, not a single module.")
    ] = False,
    path: Annotated[
        Path, typer.Option("--path", "-p", help="The folder in which to create the project.")
    ] = ENVIRONMENTS,
    force: ForceOpt = False,
    rewrite_readme: Annotated[
        bool,
        typer.Option("--rewrite-readme", help="Only write README.md, for an existing project."),
    ] = False,
) -> None:
    """Create a new environment that runs as it is.

    \b
    Example:
      prime env init my-env --template tool
      prime eval run my-env -m builtin/oracle -n 3
    \b
    See also: `prime env build`, `prime env upload`, `prime eval run`.
    """
    session = open_session(ctx)
    scaffold = plan_scaffold(name, path, kind=template, v0=not v1, multi_file=multi_file)
    if rewrite_readme and scaffold.root.exists():
        scaffold, force = only_readme(scaffold), True
    written = write_scaffold(scaffold, force=force)
    record = NewProject(
        name=scaffold.name,
        module=scaffold.module,
        path=str(scaffold.root),
        files=[str(file) for file in written],
    )
    session.output.done(f"Created {scaffold.root} with {len(written)} files", value=record)
    typed = name if path == ENVIRONMENTS else scaffold.root
    session.output.hint(
        f"run it with `prime eval run {typed} -m builtin/oracle -n 3`, then publish it with "
        f"`prime env upload {typed}`"
    )


class BuiltWheel(msgspec.Struct, frozen=True, kw_only=True):
    """The wheel; `size` in bytes, `files` are its members, `module` has the environment."""

    name: str
    version: str
    path: str
    sha256: str
    size: int
    module: str | None
    generation: Generation | None
    files: list[str]


@local_options(OFFLINE, answer=BuiltWheel, effects=BUILDS)
def build(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER|PROJECT]", help="A folder, or a name in ./environments."),
    ] = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out-dir",
            metavar="FOLDER",
            help="The folder for the wheel.",
            show_default="FOLDER/dist",
        ),
    ] = None,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not import the wheel in a clean interpreter.")
    ] = False,
) -> None:
    """Build a wheel and check that it loads.

    \b
    Example:
      prime env build my-env
      prime env build ./my_env --out-dir wheels --no-check
    \b
    See also: `prime env upload`, `prime env install`.
    """
    session = open_session(ctx)
    project = load_project(find_project(target, Path.cwd()))
    wheel, facts = build_checked(
        project,
        out_dir or project.root / DIST,
        session.progress,
        check=not no_check,
        offline=session.config.offline,
    )
    record = BuiltWheel(
        name=facts.name,
        version=facts.version,
        path=str(wheel),
        sha256=digest_file(wheel),
        size=wheel.stat().st_size,
        module=facts.module,
        generation=facts.exposes,
        files=list(facts.members),
    )
    session.output.done(f"Built {wheel}", value=record)
    session.output.hint(
        f"publish it with `prime env upload {target}`"
        if target
        else "publish it with `prime env upload`"
    )
