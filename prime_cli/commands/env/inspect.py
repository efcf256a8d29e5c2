"""`prime env inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.env.bundle import show_bundle
from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    VersionOpt,
    at_version,
    open_session,
)
from prime_cli.envs.bundles.archive import is_bundle, verify_bundle
from prime_cli.envs.names import resolve_name
from prime_cli.session import Session
from prime_cli.wire.environments import InspectEntry, Inspection

_COLUMNS = ("Path", "Size")


def inspect(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="The environment, or a bundle.")
    ],
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="A file or folder in it.")
    ] = None,
    version: VersionOpt = None,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", min=1, max=500_000, help="How much of a file to print.")
    ] = 100_000,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Look into the files of a published version.

    Without PATH, or with that of a folder, its files are listed; a file is printed. The file of a
    bundle is checked, and its parts are listed.

    \b
    Example:
      prime env inspect starter/alphabet-sort
      prime env inspect starter/alphabet-sort README.md
    \b
    See also: `prime env pull`, `prime env bundle`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if is_bundle(Path(environment)):
        file = Path(environment)
        show_bundle(verify_bundle(file, session.progress), file, session.output)
        return
    ref = at_version(resolve_name(session.hub, environment, progress=session.progress), version)
    found = session.hub.of(ref.owner).environments.inspect(ref, path, max_bytes)
    if found.kind == "file":
        _print_file(session, found, max_bytes)
        return
    entries = found.entries or []
    session.output.table(_COLUMNS, [_row(each) for each in entries], records=entries, page=found)


def _print_file(session: Session, found: Inspection, max_bytes: int) -> None:
    session.output.text(found.content or "", record=found)
    if found.truncated:
        total = f" of {found.total_bytes}" if found.total_bytes else ""
        session.output.warn(
            f"Only the first {max_bytes}{total} bytes are shown", hint="see more with `--max-bytes`"
        )


def _row(each: InspectEntry) -> list[str]:
    name = f"{each.path}/" if each.is_directory else each.path
    return [name, "" if each.size is None else str(each.size)]
