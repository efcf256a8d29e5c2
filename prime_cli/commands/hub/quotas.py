"""`prime hub quota …`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.hub.options import HubData
from prime_cli.commands.options import CONTEXT, hub_options, local_options, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.session import Session
from prime_cli.wire.quotas import QUOTA_KINDS, UNLIMITED_TEXT, NewQuota, Quota, parse_quota

_HERE = "prime_cli.commands.hub.quotas"

app = group(
    "Limit what users and teams store, rent and spend.",
    {
        "set": (f"{_HERE}:set_", "Set a quota for a user, a team or everybody."),
        "list": (f"{_HERE}:list_", "List quotas, and what is used of them."),
        "show": (f"{_HERE}:show", "Show your own quotas and those of your teams."),
    },
)

_DEFAULT = "default"


@local_options(CONTEXT, answer=Quota, effects=WRITES)
def set_(
    ctx: typer.Context,
    owner: Annotated[
        str | None,
        typer.Argument(metavar="[OWNER]", help="A user or team.", show_default="everybody"),
    ] = None,
    *,
    storage: Annotated[
        str | None,
        typer.Option("--storage", metavar="SIZE", help="Published files, such as 500MB or 10GB."),
    ] = None,
    pods: Annotated[
        str | None, typer.Option("--pods", metavar="N", help="Pods at the same time.")
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option("--tokens", metavar="N", help="Tokens of the hub's models in a month."),
    ] = None,
    sandboxes: Annotated[
        str | None,
        typer.Option("--sandboxes", metavar="N", help="Sandboxes at the same time."),
    ] = None,
    place: HubData,
) -> None:
    """Set a quota for a user, a team or everybody.

    Without OWNER, it is the quota of each user and team that has no own one. `unlimited` removes
    the limit, and `default` the own quota. Pushes, forks, pods, sandboxes and calls to models above
    it are refused; what is there already stays.

    \b
    Example:
      prime hub quota set --storage 10GB --pods 2
      prime hub quota set lab --storage unlimited --pods 8 --tokens 50000000
    \b
    See also: `prime hub quota list`, `prime hub usage`.
    """
    session = open_session(ctx)
    given = {"storage": storage, "pods": pods, "tokens": tokens, "sandboxes": sandboxes}
    typed = {kind: text for kind, text in given.items() if text is not None}
    if not typed:
        raise UsageError("Give `--storage`, `--pods`, `--tokens` or `--sandboxes`")
    numbers = {kind: parse_quota(kind, text) for kind, text in typed.items() if text != _DEFAULT}
    reset = [kind for kind, text in typed.items() if text == _DEFAULT]
    new = NewQuota(**numbers, owner=owner, reset=reset)
    made = place.administration(session).set_quota(new)
    limits = ", ".join(f"{kind} {_limit(made, kind)}" for kind in typed)
    session.output.done(f"Quota of {f'`{owner}`' if owner else 'everybody'}: {limits}", value=made)


_COLUMNS = ("Owner", "Storage", "of", "Pods", "of", "Tokens", "of", "Sandboxes", "of")


@local_options(CONTEXT, answer=list[Quota])
def list_(ctx: typer.Context, place: HubData) -> None:
    """List quotas, and what is used of them.

    The first line has the sums, and the quota of those who have no own one. Own quotas have a `*`.
    Tokens are those of this month.

    \b
    Example:
      prime hub quota list
    \b
    See also: `prime hub quota set`, `prime hub quota show`, `prime hub usage`.
    """
    session = open_session(ctx)
    _print(session, place.administration(session).list_quotas().quotas)


@hub_options(answer=list[Quota])
def show(ctx: typer.Context) -> None:
    """Show your own quotas and those of your teams.

    Each column of what is used is followed by its limit. A `*` marks a limit set for that user or
    team alone. Tokens are those of this month.

    \b
    Example:
      prime hub quota show
    \b
    See also: `prime whoami`, `prime teams list`.
    """
    session = open_session(ctx)
    context = session.config.context
    if context.embedded:
        raise UsageError(
            f"The `{context.name}` hub has no quotas", hint="choose another hub with `--context`"
        )
    try:
        found = session.hub.accounts.quotas()
    except NotFound as error:
        raise UsageError(f"{session.hub.host} has no quotas to show") from error
    _print(session, found)


def _print(session: Session, found: Sequence[Quota]) -> None:
    rows = [
        [each.owner or "(default)", *(cell for kind in QUOTA_KINDS for cell in _cells(each, kind))]
        for each in found
    ]
    session.output.table(_COLUMNS, rows, records=found)


def _cells(quota: Quota, kind: str) -> tuple[str, str]:
    own = "*" if quota.owner and kind in quota.own else ""
    return _shown(kind, getattr(quota.used, kind) or 0), _limit(quota, kind) + own


def _limit(quota: Quota, kind: str) -> str:
    limit: int | None = getattr(quota.limits, kind)
    return UNLIMITED_TEXT if limit is None else _shown(kind, limit)


def _shown(kind: str, amount: int) -> str:
    return format_bytes(amount) if kind == "storage" else f"{amount:,}"
