"""`prime keys …`, also `prime key …`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.client.api.accounts import KEYS_FEATURE
from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.tokens import ExpiresOpt, KeyScope, ScopeOpt
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import parse_duration, pluralize
from prime_cli.session import Session
from prime_cli.wire.accounts import KeyItem, KeyList, KeyRequest

_HERE = "prime_cli.commands.keys"

app = group(
    "Manage your API keys.",
    {
        "list": (f"{_HERE}:list_", "List your keys, without their values."),
        "create": (f"{_HERE}:create", "Create a key and print it."),
        "revoke": (f"{_HERE}:revoke", "Revoke a key, and the keys created with it."),
    },
    aliases={"ls": "list", "add": "create", "delete": "revoke", "rm": "revoke"},
)

_COLUMNS = ("", "Id", "Begins with", "Name", "Scope", "Owner", "Created", "Last used", "Expires")


def _require_keys(session: Session) -> None:
    """Raise UsageError on a hub that leaves keys to its pages, or has none."""
    context = session.config.context
    if context.embedded:
        raise UsageError(
            f"The `{context.name}` hub has no API keys",
            hint="choose another hub with `--context`, or log in with `prime login`",
        )
    if KEYS_FEATURE not in session.hub.capabilities().features:
        raise UsageError(
            f"{session.hub.host} does not manage keys by its API", hint="use its web pages"
        )


@hub_options(answer=KeyList, record=KeyItem)
def list_(ctx: typer.Context) -> None:
    """List your keys, without their values.

    The one in use has a `*`. All of them are shown to a key with the scope `admin`, to others only
    themselves. The last use is exact to ten minutes.

    \b
    Example:
      prime keys list
      prime keys list --output json
    \b
    See also: `prime keys create`, `prime whoami`.
    """
    session = open_session(ctx)
    _require_keys(session)
    found = session.hub.accounts.keys()
    rows = [
        [
            "*" if key.current else "",
            key.id,
            key.prefix,
            key.name,
            key.rights,
            key.owner or "",
            key.created_at,
            key.last_used_at or "never",
            key.expires_at or "never",
        ]
        for key in found
    ]
    session.output.table(_COLUMNS, rows, records=found, page=KeyList(found))


class CreatedKey(msgspec.Struct, frozen=True):
    """A new key, which is shown only here."""

    name: str
    scope: KeyScope
    owner: str | None
    id: str
    key: str


@hub_options(answer=CreatedKey, effects=WRITES)
def create(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Option("--name", "-n", metavar="TEXT", help="What it is for.")] = "",
    scope: ScopeOpt = KeyScope.WRITE,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="OWNER",
            help="Limit the key to yourself or a team.",
            show_default="you and all your teams",
        ),
    ] = None,
    expires: ExpiresOpt = None,
) -> None:
    """Create a key and print it.

    Prints only the key on stdout; it is shown only once. Needs a key with the scope `admin`, and
    the new one may do no more and lasts no longer than that one.

    \b
    Example:
      prime keys create --name ci --scope read --expires 30d
      prime keys create --name ci --owner lab > key.txt
    \b
    See also: `prime keys list`, `prime login --token-stdin`.
    """
    session = open_session(ctx)
    seconds = None if expires is None else int(parse_duration(expires))
    _require_keys(session)
    made = session.hub.accounts.create_key(KeyRequest(name, scope.value, owner, seconds))
    record = CreatedKey(name, scope, owner, made.id, made.key)
    session.output.text(made.key, record=record)


class RevokedKey(msgspec.Struct, frozen=True):
    """A key, and how many were revoked with those created with it."""

    id: str
    revoked: int


@hub_options(YES, answer=RevokedKey, effects=WRITES)
def revoke(
    ctx: typer.Context,
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="Its id, beginning or name; `current` is the one used."),
    ],
) -> None:
    """Revoke a key, and the keys created with it.

    Takes effect at once. `prime logout` revokes the key in use and forgets it here.

    \b
    Example:
      prime keys revoke ci
      prime keys revoke key_0f1e2d3c4b5a6978 --yes
    \b
    See also: `prime keys list`, `prime logout`.
    """
    session = open_session(ctx)
    _require_keys(session)
    found = _find_key(session.hub.accounts.keys(), key)
    named = f"the key {found.id}{f' ({found.name})' if found.name else ''}"
    used = ", which this command uses" if found.current else ""
    session.output.confirm(f"Revoke {named}{used}?", otherwise="Nothing was revoked")
    count = session.hub.accounts.revoke_key(found.id).revoked
    also = f" and {pluralize(count - 1, 'key')} created with it" if count > 1 else ""
    session.output.done(f"Revoked {named}{also}", value=RevokedKey(found.id, count))


def _find_key(keys: list[KeyItem], wanted: str) -> KeyItem:
    """The key that is meant; raises NotFound, and UsageError where several are."""
    found = [
        key
        for key in keys
        if wanted in (key.id, key.name, key.prefix) or (wanted == "current" and key.current)
    ]
    if not found:
        raise NotFound(
            f"You have no key `{wanted[:80]}`",
            hint="list them with `prime keys list`; a key without the scope `admin` sees only "
            "itself",
        )
    if len(found) > 1:
        named = ", ".join(key.id for key in found)
        raise UsageError(f"{len(found)} keys are named `{wanted}`", hint=f"use an id: {named}")
    return found[0]
