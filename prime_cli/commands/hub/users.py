"""`prime hub user …`."""

from typing import Annotated

import typer

from prime_cli.commands.base import group
from prime_cli.commands.hub.options import HubData
from prime_cli.commands.options import YES, local_options, open_session

_HERE = "prime_cli.commands.hub.users"

app = group(
    "Manage the users of a hub.",
    {
        "add": (f"{_HERE}:add", "Create a user."),
        "list": (f"{_HERE}:list_", "List users."),
        "remove": (f"{_HERE}:remove", "Remove a user and all their keys."),
    },
)


@local_options()
def add(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="3 to 30 of a-z, 0-9 and `-`.")],
    *,
    name: Annotated[str, typer.Option("--name", help="The user's display name.")] = "",
    email: Annotated[str | None, typer.Option("--email", help="An e-mail address.")] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="Make the user an admin of the hub.")
    ] = False,
    place: HubData,
) -> None:
    """Create a user.

    A new user has no key. Works while the hub serves.

    \b
    Example:
      prime hub user add ada --email ada@example.org
    \b
    See also: `prime hub token add`, `prime hub team add`.
    """
    session = open_session(ctx)
    hub = place.open(new=True)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.users import create_user

    made = create_user(hub, Caller.operator(), user, name=name, email=email, admin=admin)
    session.output.done(f"Created the user `{user}`", value=made)
    session.output.hint(f"create a key with `prime hub token add {user}`")


_COLUMNS = ("User", "Name", "E-mail", "Admin", "Teams", "Keys", "Since")


@local_options()
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
    hub = place.open()

    from prime_cli.hub.services.users import list_users

    found = list_users(hub)
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


@local_options(YES)
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
    hub = place.open()
    session.output.confirm(
        f"Remove the user `{user}` and all their keys?", otherwise="Nothing was removed"
    )

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.users import remove_user

    remove_user(hub, Caller.operator(), user)
    session.output.done(f"Removed the user `{user}`", value={"user": user, "removed": True})
