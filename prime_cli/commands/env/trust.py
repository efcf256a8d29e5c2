"""`prime env trust`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.refs import read_owner
from prime_cli.envs.trust import TrustedOwners

_COLUMNS = ("Hub", "Owner", "How", "Since")


def trust(
    ctx: typer.Context,
    owners: Annotated[
        list[str] | None, typer.Argument(metavar="[OWNER]...", help="Whose code may run here.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take them off the list instead.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
) -> None:
    """Trust owners of the current hub, or list who is trusted.

    The first time that an owner's code would be installed or run, prime asks. A name on one hub is
    nobody on another. What you and your teams publish needs no question.

    \b
    Example:
      prime env trust
      prime env trust ada --context team
      prime env trust ada --remove
    \b
    See also: `prime env signers`, `prime env install`, `prime eval run`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context)
    listed = TrustedOwners(session.config.home.value)
    if not owners:
        if remove:
            raise UsageError("Name the owners to take off the list")
        found = listed.all()
        rows = [[each.hub, each.owner, each.how, each.since] for each in found]
        session.output.table(_COLUMNS, rows, records=found)
        return
    hub = _origin(session.config.context.base_url or session.config.upstream)
    for owner in owners:
        read_owner(owner)
        if remove and not listed.remove(hub, owner):
            raise NotFound(
                f"`{owner}` on {hub} is not on the list", hint="see it with `prime env trust`"
            )
        if not remove:
            listed.add(hub, owner, how="command")
    named = ", ".join(f"`{owner}`" for owner in owners)
    verb = "no longer trusted" if remove else "trusted"
    session.output.done(
        f"{named} on {hub}: {verb}", value={"hub": hub, "owners": owners, "trusted": not remove}
    )


def _origin(url: str | None) -> str:
    """The hub that strangers come from: the context's, or the one that the local hub asks."""
    if url is None:
        raise UsageError(
            "Everything on the local hub is trusted", hint="name another hub with `--context`"
        )
    return url
