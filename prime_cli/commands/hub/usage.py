"""`prime hub usage`."""

from typing import Annotated

import typer

from prime_cli.commands.hub.options import HubData
from prime_cli.commands.options import CONTEXT, local_options, open_session
from prime_cli.core.formatting import format_usd
from prime_cli.wire.inference import ModelUsage, UsageQuery

_COLUMNS = ("Owner", "Model", "Calls", "Input", "Output", "Cost USD", "Unpriced")


@local_options(CONTEXT, answer=list[ModelUsage])
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
      prime hub usage --owner lab --context team
    \b
    See also: `prime hub serve`, `prime eval prices`.
    """
    session = open_session(ctx)
    found = place.administration(session).list_usage(UsageQuery(month, owner)).usage
    rows = [
        (
            each.owner,
            each.model,
            f"{each.calls:,}",
            f"{each.input_tokens:,}",
            f"{each.output_tokens:,}",
            format_usd(each.cost_usd),
            f"{each.unpriced_calls:,}",
        )
        for each in found
    ]
    session.output.table(_COLUMNS, rows, records=found)
