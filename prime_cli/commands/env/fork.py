"""`prime env fork`, also `prime fork`, and `prime env star | unstar`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import EnvironmentArg, hub_options, open_session
from prime_cli.core.completion_cache import remember
from prime_cli.core.config.contexts import PERSONAL
from prime_cli.core.refs import EnvRef
from prime_cli.envs.hub_environments import find_named
from prime_cli.wire.environments import EnvironmentDetail, ForkRequest


@hub_options(answer=EnvironmentDetail, effects=WRITES)
def fork(
    ctx: typer.Context,
    environment: EnvironmentArg,
    team: Annotated[
        str | None,
        typer.Option(
            "--team",
            "-t",
            metavar="TEAM",
            help="Fork to this team, or `personal`.",
            show_default="the current team",
        ),
    ] = None,
) -> None:
    """Copy an environment to your own name or a team's.

    Copies the latest version, and keeps note of where it came from. A private environment's fork is
    private.

    \b
    Example:
      prime env fork ada/wordle
      prime env fork ada/wordle --team lab
    \b
    See also: `prime env pull`, `prime env upload`.
    """
    session = open_session(ctx)
    hub, found = find_named(session.hub, environment, session.progress)
    context = session.config.context
    if team is None and context.team is not None:
        session.output.say(f"For the team `{context.team}` (from {context.team_source})")
    slug = team or context.team
    request = ForkRequest(team_slug=None if slug == PERSONAL else slug)
    made = hub.environments.fork(_ref_of(found), request)
    remember("environments", [made.slug])
    session.output.done(f"Forked {_ref_of(found).slug} to {made.slug}", value=made)
    session.output.hint(f"change it: `prime env pull {made.slug}`")


class StarState(msgspec.Struct, frozen=True):
    """Whether you have starred it."""

    environment: str
    starred: bool


@hub_options(answer=StarState, effects=WRITES)
def star(ctx: typer.Context, environment: EnvironmentArg) -> None:
    """Star an environment.

    \b
    Example:
      prime env star ada/wordle
    \b
    See also: `prime env list --starred`, `prime env unstar`.
    """
    _set_star(ctx, environment, starred=True)


@hub_options(answer=StarState, effects=WRITES)
def unstar(ctx: typer.Context, environment: EnvironmentArg) -> None:
    """Remove your star from an environment.

    \b
    Example:
      prime env unstar ada/wordle
    \b
    See also: `prime env star`.
    """
    _set_star(ctx, environment, starred=False)


def _set_star(ctx: typer.Context, environment: str, *, starred: bool) -> None:
    session = open_session(ctx)
    hub, found = find_named(session.hub, environment, session.progress)
    ref = _ref_of(found)
    hub.environments.set_star(ref, starred=starred)
    value = StarState(ref.slug, starred)
    session.output.done(f"{'Starred' if starred else 'Unstarred'} {ref.slug}", value=value)


def _ref_of(found: EnvironmentDetail) -> EnvRef:
    return EnvRef(found.owner.name, found.name)
