"""`prime hub takedown …`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.options import HubData
from prime_cli.commands.options import CONTEXT, local_options, open_session
from prime_cli.wire.accounts import NewTakedown, Takedown

_HERE = "prime_cli.commands.hub.takedowns"

app = group(
    "Take down what is published, or suspend a user.",
    {
        "add": (f"{_HERE}:add", "Take something down, with a reason."),
        "list": (f"{_HERE}:list_", "List what is taken down."),
        "remove": (f"{_HERE}:remove", "Restore what was taken down."),
    },
)

TargetArg = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="OWNER/NAME, OWNER/NAME@VERSION, the id of an evaluation, or a USER."
    ),
]


@local_options(CONTEXT, answer=Takedown, effects=WRITES)
def add(
    ctx: typer.Context,
    target: TargetArg,
    *,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; shown to everybody concerned.")
    ],
    place: HubData,
) -> None:
    """Take something down, with a reason.

    An environment or version is no longer listed, indexed or downloaded, by its owner either, and
    can be neither changed nor deleted. An evaluation is no longer public. A user is suspended: no
    key of the user works; what the user has published stays. Forks are separate environments.

    \b
    Example:
      prime hub takedown add eve/miner --reason "Mines coins"
      prime hub takedown add eve --reason "Spam" --context team
    \b
    See also: `prime hub takedown list`, `prime hub takedown remove`.
    """
    session = open_session(ctx)
    made = place.administration(session).take_down(NewTakedown(target, reason))
    done = "Suspended the user" if made.kind == "user" else f"Took down the {made.kind}"
    session.output.done(f"{done} `{made.target}`", value=made)
    session.output.hint(f"undo it with `prime hub takedown remove {made.target}`")


_COLUMNS = ("Kind", "Target", "Reason")


@local_options(CONTEXT, answer=list[Takedown])
def list_(ctx: typer.Context, place: HubData) -> None:
    """List what is taken down.

    Who did it and when is in the audit log.

    \b
    Example:
      prime hub takedown list
    \b
    See also: `prime hub takedown add`, `prime hub audit`.
    """
    session = open_session(ctx)
    found = place.administration(session).list_takedowns().takedowns
    rows = [[each.kind, each.target, each.reason] for each in found]
    session.output.table(_COLUMNS, rows, records=found)


class RestoredTarget(msgspec.Struct, frozen=True):
    """What is there again; `is_public` if everybody sees it."""

    target: str
    restored: bool
    is_public: bool


@local_options(CONTEXT, answer=RestoredTarget, effects=WRITES)
def remove(ctx: typer.Context, target: TargetArg, place: HubData) -> None:
    """Restore what was taken down.

    It is as public or private as before; a user's keys work again, except those that were revoked
    or have expired.

    \b
    Example:
      prime hub takedown remove eve/miner
    \b
    See also: `prime hub takedown list`.
    """
    session = open_session(ctx)
    found = place.administration(session).restore(target)
    value = RestoredTarget(target, restored=True, is_public=found.is_public)
    session.output.done(f"Restored `{target}`", value=value)
    if found.is_public:
        # Beside its data, a hub's address is not known.
        web = session.config.context.web_url if session.context_name is not None else None
        slug, at, version = target.partition("@")
        kind = "environments" if "/" in slug else "evaluations"
        page = f": {web}/dashboard/{kind}/{slug}{at and '/@'}{version}" if web else ""
        session.output.say(f"{target} is now public{page}")
