"""`prime sandbox network`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from prime_cli.client.api.client import HubClient
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import hub_options, open_session
from prime_cli.commands.sandbox.lookup import SandboxArg, describe_reach, find_sandbox
from prime_cli.core.config import PRIME_API_URL
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.wire.sandboxes import NETWORKS, EgressChange, EgressState, Sandbox

_ALL = "*"


@hub_options(answer=EgressState, effects=WRITES)
def network(
    ctx: typer.Context,
    sandbox: SandboxArg,
    *,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="HOSTS", help="Allow only these, comma-separated; `*` is everything."),
    ] = None,
    deny: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOSTS",
            help="Block everything with `*`; on the public hub also these, comma-separated.",
        ),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(metavar="|".join(NETWORKS), help="Set the network level instead."),
    ] = None,
) -> None:
    """Show or change what a sandbox can reach.

    Changes take effect at once, and cut connections to other hosts.

    \b
    Example:
      prime sandbox network box
      prime sandbox network box --allow pypi.org,*.pythonhosted.org
      prime sandbox network box --deny '*'
      prime sandbox network box --level packages
    \b
    See also: `prime sandbox create`, `prime sandbox get`.
    """
    session = open_session(ctx)
    change = _read_change(session.hub, _split(allow), _split(deny), level)
    found = _find_sandbox(ctx, session.hub, sandbox)
    if change is None:
        state = session.hub.sandboxes.egress(found.id)
        session.output.show(state, lines=[("Sandbox", found.name), ("Network", _describe(state))])
        return
    state = session.hub.sandboxes.change_egress(found.id, change)
    session.output.done(f"{found.name} reaches: {_describe(state)}", value=state)
    if not state.applied:
        session.output.warn(
            "The change is saved but not in force yet",
            hint=f"see `prime sandbox network {found.name}`",
        )


def _find_sandbox(ctx: typer.Context, hub: HubClient, sandbox: str) -> Sandbox:
    """The sandbox, which may have the name of a command that the official client has here."""
    try:
        return find_sandbox(hub, sandbox)
    except NotFound as error:
        from prime_cli.commands.suggestions import official_command

        raise official_command(ctx, [sandbox]) or error from None


def _describe(state: EgressState) -> str:
    return describe_reach(state.policy.allowlist, state.policy.denylist)


def _split(words: Sequence[str] | None) -> list[str] | None:
    if not words:
        return None
    return [host.strip() for word in words for host in word.split(",")]


def _read_change(
    hub: HubClient, allow: list[str] | None, deny: list[str] | None, level: str | None
) -> EgressChange | None:
    if sum(each is not None for each in (allow, deny, level)) > 1:
        raise UsageError("`--allow`, `--deny` and `--level` are mutually exclusive")
    for flag, hosts in (("--allow", allow), ("--deny", deny)):
        if hosts and ("" in hosts or (_ALL in hosts and hosts != [_ALL])):
            raise UsageError(f"`{flag}` takes hosts with commas between, or `*` alone")
    if level is not None and level not in NETWORKS:
        raise UsageError(f"`--level {level}` is not one of {', '.join(NETWORKS)}")
    if level is not None and hub.base_url == PRIME_API_URL:
        raise UsageError(
            "The public hub has no levels of networks", hint="use `--allow` or `--deny`"
        )
    if _ALL in (allow or ()):
        return EgressChange(denylist=[])
    if _ALL in (deny or ()):
        return EgressChange(allowlist=[])
    if allow is None and deny is None and level is None:
        return None
    return EgressChange(allow, deny, level)
