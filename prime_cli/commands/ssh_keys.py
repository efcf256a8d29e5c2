"""`prime ssh-keys …`, also `prime ssh-key …`."""

from typing import Annotated

import msgspec
import typer
from msgspec import structs

from prime_cli.client.pods.ssh_keys import (
    RegisteredKey,
    default_key_name,
    find_key,
    list_registered_keys,
    read_key_file,
)
from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.core.completion_cache import forget, remember, replace
from prime_cli.core.config import DEFAULT
from prime_cli.core.ssh_keys import PublicKey, read_public_key
from prime_cli.session import Session
from prime_cli.wire.ssh_keys import SshKey

_HERE = "prime_cli.commands.ssh_keys"

app = group(
    "Manage the SSH keys that can access your pods.",
    {
        "list": (f"{_HERE}:list_", "List your SSH keys."),
        "add": (f"{_HERE}:add", "Add a public SSH key."),
        "remove": (f"{_HERE}:remove", "Remove an SSH key."),
        "set-primary": (f"{_HERE}:set_primary", "Set the primary SSH key."),
    },
    aliases={"ls": "list", "rm": "remove"},
)


SshKeyArg = Annotated[
    str,
    typer.Argument(
        metavar="SSH_KEY", help="Its name or fingerprint, or its id or the start of it."
    ),
]


class ListedKey(SshKey, rename="camel"):
    """A key in the hub's own names, with its type and fingerprint."""

    type: str = ""
    fingerprint: str = ""


class ListedKeys(msgspec.Struct, frozen=True):
    """The keys, the primary one first."""

    ssh_keys: list[ListedKey]
    total_count: int


def _key_record(key: RegisteredKey) -> ListedKey:
    return ListedKey(**structs.asdict(key.key), type=key.kind, fingerprint=key.fingerprint)


def _completions(key: RegisteredKey) -> list[str]:
    """What the Tab key offers for it."""
    return [key.name, key.id]


_COLUMNS = ("", "Name", "Fingerprint", "Type")


@hub_options(answer=ListedKeys, record=ListedKey)
def list_(
    ctx: typer.Context,
) -> None:
    """List your SSH keys.

    The primary key comes first, marked with a star. `--output json` has the ids.

    \b
    Example:
      prime ssh-keys list
      prime ssh-keys list --output json
    \b
    See also: `prime ssh-keys add`, `prime ssh-keys set-primary`.
    """
    session = open_session(ctx)
    keys = list_registered_keys(session.hub)
    replace("ssh-keys", [name for key in keys for name in _completions(key)])
    rows = [
        ["*" if key.key.is_primary else "", key.name, key.fingerprint, key.kind] for key in keys
    ]
    records = [_key_record(key) for key in keys]
    page = ListedKeys(records, len(records))
    session.output.table(_COLUMNS, rows, records=records, page=page)
    if not keys:
        session.output.hint("add yours with `prime ssh-keys add`")


@hub_options(answer=ListedKey, effects=WRITES)
def add(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A public key file; `-` reads stdin.",
            show_default="the key used by `prime pods ssh`",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Its name.", show_default="the key's comment"),
    ] = None,
) -> None:
    """Add a public SSH key.

    New pods accept it. The default is the public key of the one that `prime pods ssh` uses. A
    private key is refused, and neither sent nor printed.

    \b
    Example:
      prime ssh-keys add
      prime ssh-keys add ~/.ssh/work.pub --name work
      ssh-add -L | head -1 | prime ssh-keys add -
    \b
    See also: `prime ssh-keys list`, `prime pods create`.
    """
    session = open_session(ctx)
    key = _own_key(session) if file is None else read_key_file(file)
    hub = session.hub
    made = hub.ssh_keys.add(default_key_name(key) if name is None else name, key.line)
    added = RegisteredKey(made, key.kind, key.fingerprint)
    remember("ssh-keys", _completions(added))
    first = ", as the primary key" if made.is_primary else ""
    session.output.done(
        f"Added `{made.name}` ({key.fingerprint}) to {hub.host}{first}", value=_key_record(added)
    )


def _own_key(session: Session) -> PublicKey:
    from prime_cli.client.pods.ssh.identity import find_identity, public_line

    config = session.config
    found = find_identity(config.home.value, None, config.ssh_key_path, session.progress)
    said_by = "" if found.source == DEFAULT else f" (from {found.source})"
    session.output.say(f"The key is {found.file}{said_by}")
    return read_public_key(public_line(found))


@hub_options(YES, answer=ListedKey, effects=WRITES)
def remove(
    ctx: typer.Context,
    key: SshKeyArg,
) -> None:
    """Remove an SSH key.

    Running pods still accept it. If it was the primary key, the newest of the others becomes
    primary.

    \b
    Example:
      prime ssh-keys remove laptop
      prime ssh-keys remove 26d18d91 --yes
    \b
    See also: `prime ssh-keys list`, `prime pods terminate`.
    """
    session = open_session(ctx)
    hub = session.hub
    found = find_key(hub, key)
    session.output.confirm(
        f"Remove the SSH key {found.described} from {hub.host}?",
        otherwise="Nothing was removed",
    )
    hub.ssh_keys.remove(found.id)
    forget("ssh-keys", _completions(found))
    session.output.done(
        f"Removed {found.described}: new pods do not accept it",
        value=_key_record(found),
    )


@hub_options(answer=ListedKey, effects=WRITES)
def set_primary(
    ctx: typer.Context,
    key: SshKeyArg,
) -> None:
    """Set the primary SSH key.

    Hubs that put a single key on a pod use the primary one by default; our hubs accept all keys of
    everybody with access to the pod.

    \b
    Example:
      prime ssh-keys set-primary work
    \b
    See also: `prime ssh-keys list`.
    """
    session = open_session(ctx)
    hub = session.hub
    found = find_key(hub, key)
    hub.ssh_keys.set_primary(found.id)
    now = RegisteredKey(structs.replace(found.key, is_primary=True), found.kind, found.fingerprint)
    session.output.done(f"The primary key is {found.described}", value=_key_record(now))
