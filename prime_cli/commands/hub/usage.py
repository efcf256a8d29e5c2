"""`prime hub usage`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import HubData
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import UsageError

_COLUMNS = ("Owner", "Model", "Calls", "Input", "Output", "Cost USD", "Unpriced")


@local_options()
def usage(
    ctx: typer.Context,
    *,
    month: Annotated[
        str | None,
        typer.Option(
            "--month", metavar="YYYY-MM", help="The month, in UTC.", show_default="this one"
        ),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Only this user or team.")
    ] = None,
    place: HubData,
) -> None:
    """Show what users spent on the hub's models.

    Counts tokens and cost of calls to the models of `prime hub serve --endpoints`, by user or
    team and model. Calls to models without a known price are counted as unpriced.

    \b
    Example:
      prime hub usage --month 2026-11
    \b
    See also: `prime hub serve`, `prime eval prices`.
    """
    if month is not None and not _is_month(month):
        raise UsageError(f"`{month}` is not a month", hint="write it like `2026-11`")
    session = open_session(ctx)
    hub = place.open()

    from prime_cli.hub.services.usage import list_usage

    found = list_usage(hub, month, owner)
    rows = [
        (
            each.owner,
            each.model,
            f"{each.calls:,}",
            f"{each.input_tokens:,}",
            f"{each.output_tokens:,}",
            f"{each.cost_usd:.4f}",
            f"{each.unpriced_calls:,}",
        )
        for each in found
    ]
    session.output.table(_COLUMNS, rows, records=found)


def _is_month(text: str) -> bool:
    year, dash, month = text.partition("-")
    return bool(dash) and year.isdecimal() and len(year) == 4 and month in _MONTHS  # noqa: PLR2004


_MONTHS = frozenset(f"{number:02}" for number in range(1, 13))
