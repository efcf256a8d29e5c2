"""`prime switch`."""

from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.core.config.contexts import PERSONAL
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.wire.accounts import Team


def switch(
    ctx: typer.Context,
    team: Annotated[
        str | None,
        typer.Argument(
            metavar="[personal|TEAM]",
            help="The team's slug or id.",
            show_default="asked for on a terminal",
        ),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Choose the team that you work for, or yourself.

    What you upload to the current hub and push there is the team's then, unless you say
    otherwise. A variable PRIME_TEAM or PRIME_TEAM_ID wins over it.

    \b
    Example:
      prime switch acme
      prime switch personal
    \b
    See also: `prime teams list`, `prime env upload --team`, `prime whoami`.
    """
    from prime_cli.accounts.teams import (
        choose_team,
        list_teams,
        pick_team,
        require_team_setting,
        team_title,
    )

    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    require_team_setting(session.config)
    wanted = team
    chosen: Team | None = None
    if wanted != PERSONAL:
        teams = list_teams(session.hub)
        wanted = wanted or _ask(session, teams)
        chosen = None if wanted == PERSONAL else pick_team(teams, wanted, session.hub.host)
    choose_team(session.config, chosen)
    record = {"context": session.config.context.name, "team": chosen and chosen.slug}
    told = f"the team {team_title(chosen)}" if chosen else "yourself"
    session.output.done(f"On {session.hub.host} you work for {told} now", value=record)


def _ask(session: Session, teams: "list[Team]") -> str:
    from prime_cli.accounts.teams import team_title

    if not teams:
        session.output.say(f"You are in no team on {session.hub.host}")
        return PERSONAL
    named = {f"{team_title(each)}, {each.role.lower()}": each.slug for each in teams}
    if not session.output.is_interactive:
        named = {each.slug: each.slug for each in teams}
    options = {PERSONAL: PERSONAL, **named}
    return options[session.output.choose("Whom do you work for?", list(options))]
