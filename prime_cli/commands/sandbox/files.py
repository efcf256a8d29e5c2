"""`prime sandbox upload`, `download` and `cp`."""

from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from prime_cli.client.pods.ssh.exec import split_remote
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import (
    CONTEXT,
    OFFLINE,
    QUIET,
    ForceOpt,
    common_options,
    open_session,
)
from prime_cli.commands.sandbox.lookup import SandboxArg, find_living
from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.formatting import format_bytes, pluralize
from prime_cli.core.paths import storage_errors
from prime_cli.session import Session

_FOLDERS = "copy a folder by `tar c FOLDER | prime sandbox run SANDBOX -- tar x -C /tmp`"
_SIDES = "use `SANDBOX:PATH` for the sandbox's side, and `./a:b` for a local file with a colon"


@common_options(QUIET, CONTEXT, OFFLINE, effects=WRITES)
def upload(
    ctx: typer.Context,
    sandbox: SandboxArg,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A local file.")],
    target: Annotated[
        str, typer.Argument(metavar="REMOTE", help="Its path there; `/` at the end keeps the name.")
    ],
) -> None:
    """Upload a file to a sandbox.

    Creates missing folders. Links are resolved inside the sandbox.

    \b
    Example:
      prime sandbox upload box data.csv /tmp/
    \b
    See also: `prime sandbox download`, `prime sandbox cp`.
    """
    session = open_session(ctx)
    _require_file(file)
    size = _upload(session, find_living(session.hub, sandbox).id, file, target)
    session.output.done(f"Uploaded {file} ({format_bytes(size)})")


@common_options(QUIET, CONTEXT, OFFLINE, effects=WRITES)
def download(
    ctx: typer.Context,
    sandbox: SandboxArg,
    source: Annotated[str, typer.Argument(metavar="REMOTE", help="The path of a file there.")],
    target: Annotated[Path, typer.Argument(metavar="FILE", help="Where to store it.")],
    force: ForceOpt = False,
) -> None:
    """Download a file from a sandbox.

    \b
    Example:
      prime sandbox download box /tmp/result.json result.json
    \b
    See also: `prime sandbox upload`, `prime sandbox cp`.
    """
    session = open_session(ctx)
    place = _local(source, target)
    if place.exists() and not force:
        raise Conflict(f"{place} exists", hint="overwrite it with `--force`")
    size = _download(session, find_living(session.hub, sandbox).id, source, place)
    session.output.done(f"Downloaded {place} ({format_bytes(size)})")


@common_options(QUIET, CONTEXT, OFFLINE, effects=WRITES)
def cp(
    ctx: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[SANDBOX:]PATH... [SANDBOX:]PATH",
            help="Source and destination; one side is `SANDBOX:PATH`.",
        ),
    ],
) -> None:
    """Copy files to or from a sandbox.

    Overwrites existing files, as cp does. To copy a folder, use `tar` with `prime sandbox run`.

    \b
    Example:
      prime sandbox cp a.py b.py box:/tmp/
      prime sandbox cp box:/tmp/result.json .
    \b
    See also: `prime sandbox upload`, `prime sandbox run`.
    """
    session = open_session(ctx)
    if len(paths) < len(("from", "to")):
        raise UsageError("Pass a source and a destination", hint=_SIDES)
    *sources, (box, target) = [split_remote(word) for word in paths]
    boxes = {name for name, _ in sources}
    if len({*boxes, box}) != len((None, "box")) or len(boxes) > 1 or None not in {*boxes, box}:
        raise UsageError("One side must be in a sandbox, and the other here", hint=_SIDES)
    if box is not None:
        for _, source in sources:
            _require_file(Path(source))
    found = find_living(session.hub, box or boxes.pop() or "")
    for _, source in sources:
        if box is not None:
            _upload(session, found.id, Path(source), target, several=len(sources) > 1)
        else:
            _download(session, found.id, source, _local(source, Path(target)))
    where = f"`{found.name}`" if box is not None else "here"
    session.output.done(f"Copied {pluralize(len(sources), 'file')} to {where}")


def _require_file(file: Path) -> None:
    if file.is_dir():
        raise UsageError(f"{file} is a folder", hint=_FOLDERS)
    if not file.is_file():
        raise NotFound(f"There is no file {file}")


def _upload(
    session: Session, sandbox_id: str, file: Path, target: str, *, several: bool = False
) -> int:
    target = f"{target.rstrip('/')}/" if several else target
    with storage_errors(file):
        return session.hub.sandboxes.gateway(sandbox_id).upload(file, _remote(file, target))


def _download(session: Session, sandbox_id: str, source: str, target: Path) -> int:
    with storage_errors(target):
        return session.hub.sandboxes.gateway(sandbox_id).download(source, target)


def _remote(file: Path, target: str) -> str:
    return f"{target}{file.name}" if target.endswith("/") else target or file.name


def _local(source: str, target: Path) -> Path:
    return target / PurePosixPath(source).name if target.is_dir() else target
