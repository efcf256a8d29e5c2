"""`prime hub token …` and `prime hub approve`."""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer
from msgspec import UNSET, UnsetType

from prime_cli.commands.base import group
from prime_cli.commands.contract import NETWORK, WRITES
from prime_cli.commands.hub.options import HubData
from prime_cli.commands.options import CONTEXT, local_options, open_session
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import parse_duration, pluralize
from prime_cli.wire.accounts import KeyItem

_HERE = "prime_cli.commands.hub.tokens"

app = group(
    "Create, list and revoke API keys.",
    {
        "add": (f"{_HERE}:add", "Create a key and print it."),
        "list": (f"{_HERE}:list_", "List keys without their values."),
        "remove": (f"{_HERE}:remove", "Revoke a key, or all keys of a user."),
    },
)


class KeyScope(StrEnum):
    """What a key may do; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ScopeOpt = Annotated[
    KeyScope, typer.Option("--scope", help="Read, also publish, or also manage keys and teams.")
]
ExpiresOpt = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="TIME",
        help="The key's lifetime, such as 30d or 12h.",
        show_default="for ever",
    ),
]


@local_options(answer="prime_cli.hub.services.key_management:NewKey", effects=(NETWORK, WRITES))
def add(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="The key's user.")],
    *,
    name: Annotated[str, typer.Option("--name", help="The key's name.")] = "",
    scope: ScopeOpt = KeyScope.WRITE,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="OWNER",
            help="Limit the key to this user or team.",
            show_default="the user and all their teams",
        ),
    ] = None,
    expires: ExpiresOpt = None,
    place: HubData,
) -> None:
    """Create a key and print it.

    Prints only the key on stdout. It is shown only once.

    \b
    Example:
      prime hub token add ada --name ci --scope read --expires 30d
    \b
    See also: `prime hub token list`, `prime whoami`.
    """
    session = open_session(ctx)
    seconds = None if expires is None else parse_duration(expires)
    hub = place.open()

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.key_management import issue_key

    made = issue_key(
        hub,
        Caller.operator(),
        user,
        name=name,
        scope=scope.value,
        owner=owner,
        seconds=seconds,
    )
    session.output.text(made.key, record=made)


_COLUMNS = (
    "Id",
    "User",
    "Begins with",
    "Name",
    "Scope",
    "Owner",
    "Made",
    "Last used",
    "Expires",
    "Parent",
)


@local_options(CONTEXT, answer=list[KeyItem])
def list_(
    ctx: typer.Context,
    *,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="Only this user's keys.")
    ] = None,
    place: HubData,
) -> None:
    """List keys without their values.

    The last use is exact to ten minutes. The parent is the key that created this one or approved
    its login; revoking the parent revokes this key too.

    \b
    Example:
      prime hub token list --user ada
    \b
    See also: `prime hub token add`, `prime hub token remove`.
    """
    session = open_session(ctx)
    found = place.administration(session).list_keys(user).keys
    rows = [
        [
            key.id,
            key.user,
            key.prefix,
            key.name,
            key.rights,
            key.owner or "",
            key.created_at,
            key.last_used_at or "never",
            key.expires_at or "never",
            key.parent or "",
        ]
        for key in found
    ]
    session.output.table(_COLUMNS, rows, records=found)


class RevokedKeys(msgspec.Struct, frozen=True):
    """How many keys were revoked; `keys` are their ids, where one was named."""

    revoked: int
    keys: list[str] | UnsetType = UNSET


@local_options(CONTEXT, answer=RevokedKeys, effects=WRITES)
def remove(
    ctx: typer.Context,
    *,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Its id, or the start of it.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="All keys of this user.")
    ] = None,
    place: HubData,
) -> None:
    """Revoke a key, or all keys of a user.

    Takes effect at once, even while the hub serves. Also revokes the keys that it created and
    those of logins that it approved.

    \b
    Example:
      prime hub token remove key_0f1e2d3c4b5a6978
    \b
    See also: `prime hub token list`.
    """
    session = open_session(ctx)
    if (key is None) == (user is None):
        raise UsageError("Give a key, or a user with --user", hint="see `prime hub token list`")
    admins = place.administration(session)
    if user is not None:
        count = admins.revoke_all(user).revoked
        told = f"Revoked {pluralize(count, 'key')} of `{user}`"
        session.output.done(told, value=RevokedKeys(count))
    elif key is not None:
        revoked = admins.revoke_key(key).keys
        session.output.done(
            f"Revoked `{key}`{_with_it(len(revoked) - 1)}",
            value=RevokedKeys(len(revoked), revoked),
        )
        session.output.hint(
            f"if it leaked, check what it was used for: `prime hub audit --key {revoked[0]}`"
        )


def _with_it(count: int) -> str:
    return f", and {pluralize(count, 'key')} created with it" if count else ""


class ApprovedLogin(msgspec.Struct, frozen=True):
    """The user that the client is logged in as."""

    user: str


@local_options(answer=ApprovedLogin, effects=(NETWORK, WRITES))
def approve(
    ctx: typer.Context,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the client shows.")],
    user: Annotated[str, typer.Option("--user", metavar="USER", help="The user to log in as.")],
    place: HubData,
) -> None:
    """Approve a client that is waiting for `prime login`.

    The client gets a new key for the user with the scope `write`, which nobody else sees.

    \b
    Example:
      prime hub approve K7QXM2WD --user ada
    \b
    See also: `prime hub audit`.
    """
    session = open_session(ctx)
    hub = place.open()

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.logins import approve_login_of

    approve_login_of(hub, Caller.operator(), code, user)
    session.output.done(f"The client is logged in as `{user}`", value=ApprovedLogin(user))
