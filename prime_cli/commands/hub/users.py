"""`prime hub user …`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.options import HubData
from prime_cli.commands.identities import UnlinkedIdentity
from prime_cli.commands.options import CONTEXT, YES, local_options, open_session
from prime_cli.wire.accounts import IdentityItem, NewUser, UserItem

_HERE = "prime_cli.commands.hub.users"

app = group(
    "Manage the users of a hub.",
    {
        "add": (f"{_HERE}:add", "Create a user."),
        "list": (f"{_HERE}:list_", "List users."),
        "remove": (f"{_HERE}:remove", "Remove a user and all their keys."),
        "identities": (f"{_HERE}:identities", "List the identities that log users in."),
        "unlink": (f"{_HERE}:unlink", "Unlink an identity from its user."),
    },
)


class UserWithKey(UserItem, kw_only=True):
    """A new user with a key, which is shown only here."""

    key: str


@local_options(CONTEXT, answer=(UserItem, UserWithKey), effects=WRITES)
def add(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="3 to 30 of a-z, 0-9 and `-`.")],
    *,
    name: Annotated[str, typer.Option("--name", help="The user's display name.")] = "",
    email: Annotated[str | None, typer.Option("--email", help="An e-mail address.")] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="Make the user an admin of the hub.")
    ] = False,
    with_key: Annotated[
        bool, typer.Option("--key", help="Also create a key, and print it.")
    ] = False,
    place: HubData,
) -> None:
    """Create a user.

    Works while the hub serves, and from another machine with `--context`: a key that is created
    there ends with yours. The key has the scope `admin`, with which the user makes others.

    \b
    Example:
      prime hub user add ada --email ada@example.org
      prime hub user add bob --key --context team > bob.txt
    \b
    See also: `prime hub token add`, `prime hub team add`.
    """
    session = open_session(ctx)
    admins = place.administration(session, new=True)
    made = admins.create_user(NewUser(user, name, email, admin, with_key))
    if made.key is not None:
        record = UserWithKey(**msgspec.structs.asdict(made.user), key=made.key)
        session.output.text(made.key, record=record)
        session.output.say(f"Created the user `{user}`; the key is shown only once")
        return
    session.output.done(f"Created the user `{user}`", value=made.user)
    session.output.hint(f"create a key with `prime hub token add {user}` on the hub's machine")


_COLUMNS = ("User", "Name", "E-mail", "Admin", "Teams", "Keys", "Since")


@local_options(CONTEXT, answer=list[UserItem])
def list_(
    ctx: typer.Context,
    place: HubData,
) -> None:
    """List users.

    \b
    Example:
      prime hub user list --output json
    \b
    See also: `prime hub user add`.
    """
    session = open_session(ctx)
    found = place.administration(session).list_users().users
    rows = [
        [
            user.slug,
            user.name,
            user.email or "",
            "yes" if user.admin else "",
            str(user.teams),
            str(user.keys),
            user.created_at,
        ]
        for user in found
    ]
    session.output.table(_COLUMNS, rows, records=found)


class RemovedUser(msgspec.Struct, frozen=True):
    """The user that is gone."""

    user: str
    removed: bool


@local_options(YES, CONTEXT, answer=RemovedUser, effects=WRITES)
def remove(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="The user.")],
    place: HubData,
) -> None:
    """Remove a user and all their keys.

    The keys are revoked at once. A user who owns environments or evaluations cannot be removed,
    since others may depend on them.

    \b
    Example:
      prime hub user remove ada --yes
    \b
    See also: `prime hub token remove --user`.
    """
    session = open_session(ctx)
    admins = place.administration(session)
    session.output.confirm(
        f"Remove the user `{user}` and all their keys?", otherwise="Nothing was removed"
    )
    admins.remove_user(user)
    session.output.done(f"Removed the user `{user}`", value=RemovedUser(user, removed=True))


@local_options(CONTEXT, answer=list[IdentityItem])
def identities(
    ctx: typer.Context,
    user: Annotated[
        str | None, typer.Argument(metavar="[USER]", help="The user.", show_default="all users")
    ] = None,
    *,
    place: HubData,
) -> None:
    """List the identities that log users in.

    They are accounts at the sign-in provider of the hub (`prime hub serve --oidc-issuer`).

    \b
    Example:
      prime hub user identities ada --context team
    \b
    See also: `prime hub user unlink`, `prime hub token list`.
    """
    session = open_session(ctx)
    found = place.administration(session).list_identities(user).identities
    rows = [
        [each.id, each.user, each.issuer, each.email or "", each.created_at, each.last_used_at]
        for each in found
    ]
    session.output.table(_OF_IDENTITIES, rows, records=found)


_OF_IDENTITIES = ("Id", "User", "Provider", "E-mail", "Linked", "Last login")


@local_options(YES, CONTEXT, answer=UnlinkedIdentity, effects=WRITES)
def unlink(
    ctx: typer.Context,
    identity: Annotated[str, typer.Argument(metavar="IDENTITY", help="The id of the identity.")],
    place: HubData,
) -> None:
    """Unlink an identity from its user.

    It no longer logs the user in; where users may sign up, its next login makes a new one. Keys of
    earlier logins keep working.

    \b
    Example:
      prime hub user unlink idn_0f1e2d3c4b5a6978 --yes
    \b
    See also: `prime hub user identities`, `prime hub token remove --user`.
    """
    session = open_session(ctx)
    admins = place.administration(session)
    session.output.confirm(f"Unlink the identity {identity}?", otherwise="Nothing was unlinked")
    admins.unlink_identity(identity)
    value = UnlinkedIdentity(identity, unlinked=True)
    session.output.done(f"Unlinked the identity {identity}", value=value)
