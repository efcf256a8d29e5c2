"""`prime hub token remove`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import DatabaseOpt, DataOpt, open_hub_data
from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import UsageError


def remove(
    ctx: typer.Context,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Its id, or what it begins with.")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="All keys of this user.")
    ] = None,
    data: DataOpt = None,
    database: DatabaseOpt = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Revoke a key, or all of a user.

    It is worth nothing at once, also while the hub serves, and neither are the keys that were made
    with it or for logins that it approved.

    \b
    Example:
      prime hub token remove key_0f1e2d3c4b5a6978
    \b
    See also: `prime hub token list`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    if (key is None) == (user is None):
        raise UsageError("Name a key, or a user with --user", hint="see `prime hub token list`")
    hub = open_hub_data(data, database)

    from prime_cli.hub.context import Caller
    from prime_cli.hub.services.key_management import revoke_all, revoke_key

    if user is not None:
        count = revoke_all(hub, Caller.operator(), user)
        session.output.done(f"Revoked {count} keys of `{user}`", value={"revoked": count})
    elif key is not None:
        revoked = revoke_key(hub, Caller.operator(), key)
        session.output.done(
            f"Revoked `{key}`{_with_it(len(revoked) - 1)}",
            value={"revoked": len(revoked), "keys": revoked},
        )
        session.output.hint(
            f"if it leaked, see what was done with it: `prime hub audit --key {revoked[0]}`"
        )


def _with_it(count: int) -> str:
    return f", and {count} key{'s' if count > 1 else ''} made with it" if count else ""
