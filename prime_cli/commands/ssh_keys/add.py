"""`prime ssh-keys add`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.ssh_keys.options import names_of, record_of
from prime_cli.core.completion_cache import remember
from prime_cli.core.config import DEFAULT
from prime_cli.core.ssh_keys import PublicKey, read_public_key
from prime_cli.pods.public_keys import KnownKey, read_key_file
from prime_cli.pods.registration import name_of
from prime_cli.session import Session


def add(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A public key's file; `-` reads stdin.",
            show_default="the key that `prime pods ssh` uses",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What it is called.", show_default="the key's comment"),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Let a public key open your pods.

    It opens those that are made from now on. Without FILE it is the public half of the key that
    `prime pods ssh` logs in with. A private key is refused, and neither sent nor printed.

    \b
    Example:
      prime ssh-keys add
      prime ssh-keys add ~/.ssh/work.pub --name work
      ssh-add -L | head -1 | prime ssh-keys add -
    \b
    See also: `prime ssh-keys list`, `prime pods create`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    key = _own(session) if file is None else read_key_file(file)
    hub = session.hub
    made = hub.ssh_keys.add(name_of(key) if name is None else name, key.line)
    added = KnownKey(made, key.kind, key.fingerprint)
    remember("ssh-keys", names_of(added))
    first = ", as the primary key" if made.is_primary else ""
    session.output.done(
        f"Added `{made.name}` ({key.fingerprint}) to {hub.host}{first}", value=record_of(added)
    )


def _own(session: Session) -> PublicKey:
    from prime_cli.pods.identity import find_identity, public_line

    config = session.config
    found = find_identity(config.home.value, None, config.ssh_key_path, session.progress)
    said_by = "" if found.source == DEFAULT else f" (from {found.source})"
    session.output.say(f"The key is {found.file}{said_by}")
    return read_public_key(public_line(found))
