"""`prime env pull` and `prime env inspect`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.env.bundle import show_bundle
from prime_cli.commands.options import VersionOpt, at_version, hub_options, open_session
from prime_cli.core.completion_cache import remember
from prime_cli.core.formatting import pluralize
from prime_cli.envs.bundles.manifest import BundleManifest, BundleMember
from prime_cli.envs.install.sources import check_bundle
from prime_cli.envs.names import resolve_name
from prime_cli.envs.pull import pull_sources
from prime_cli.session import Session
from prime_cli.wire.environment_sources import InspectEntry, Inspection


class PulledSources(msgspec.Struct, frozen=True):
    """The version that was downloaded, where it is, and its files."""

    environment: str
    version: str | None
    path: str
    content_hash: str | None
    files: tuple[str, ...]


@hub_options(answer=PulledSources, effects=WRITES)
def pull(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="The environment.")
    ],
    target: Annotated[
        Path | None,
        typer.Option("--target", "-t", metavar="FOLDER", help="The folder for its files."),
    ] = None,
    version: VersionOpt = None,
) -> None:
    """Download the source of an environment.

    Writes to ./environments/NAME if ./environments exists, otherwise to ./NAME. Never writes to an
    existing folder unless it is given by `--target`.

    \b
    Example:
      prime env pull starter/alphabet-sort
      prime env pull ada/wordle@0.1.0 --target wordle
    \b
    See also: `prime env inspect`, `prime env upload`.
    """
    session = open_session(ctx)
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
    record = PulledSources(
        environment=pulled.ref.slug,
        version=pulled.ref.version,
        path=str(pulled.path),
        content_hash=pulled.content_hash,
        files=pulled.files,
    )
    session.output.done(
        f"Pulled {pulled.ref} into {pulled.path} ({pluralize(len(pulled.files), 'file')})",
        value=record,
    )
    session.output.hint(f"run it with `prime eval run {pulled.path}`")


_COLUMNS = ("Path", "Size")


@hub_options(answer=(Inspection, BundleManifest), record=(Inspection, InspectEntry, BundleMember))
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
        int,
        typer.Option("--max-bytes", min=1, max=500_000, help="Maximum number of bytes to print."),
    ] = 100_000,
) -> None:
    """Browse the files of a published version.

    Lists the files of the version or of a folder, or prints a file. Given a bundle, verifies it
    and lists its contents.

    \b
    Example:
      prime env inspect starter/alphabet-sort
      prime env inspect starter/alphabet-sort README.md
    \b
    See also: `prime env pull`, `prime env bundle`.
    """
    session = open_session(ctx)
    bundle = check_bundle(environment, session.progress)
    if bundle is not None:
        show_bundle(bundle, session.output)
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
