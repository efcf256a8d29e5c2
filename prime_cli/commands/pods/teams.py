"""The team that what is rented is for: the same choice for pods and for disks."""

from typing import Annotated

import typer

from prime_cli.accounts.teams import find_team
from prime_cli.core.config.contexts import PERSONAL
from prime_cli.session import Session
from prime_cli.wire.accounts import Team

TeamOpt = Annotated[
    str | None,
    typer.Option(
        "--team-id",
        "--team",
        metavar="TEAM",
        help="The team that has it, or `personal`.",
        show_default="the team you work for",
    ),
]


def choose_team(session: Session, said: str | None) -> Team | None:
    """The team that the flag names, else the one that the context works for, which is said.

    None where it is to be the user's alone; raises NotFound for a team that the user is not in.
    """
    context = session.config.context
    wanted = said or context.team
    if wanted in (None, PERSONAL):
        return None
    team = find_team(session.hub, wanted)
    if not said:
        session.output.say(f"For the team `{team.slug}` (from {context.team_source})")
    return team
