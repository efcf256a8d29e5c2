"""`prime eval prices`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.options import local_options, open_session
from prime_cli.core.formatting import format_exact
from prime_cli.models.price_book import PriceItem, own_path, price_items, shipped_table, user_table

_COLUMNS = ("Model", "Input", "Cached", "Output", "Host", "Source", "Seen")


class ModelPrices(msgspec.Struct, frozen=True):
    """Prices, and the date of those that come with prime."""

    prices: list[PriceItem]
    date: str | None


@local_options(answer=ModelPrices, record=PriceItem)
def prices(
    ctx: typer.Context,
    model: Annotated[
        str | None, typer.Argument(help="A model's name.", show_default="all models")
    ] = None,
) -> None:
    """Show model prices in USD per million tokens.

    Your prices in prices.toml, in prime's home, come first and take precedence. A price in an
    entry of endpoints.toml overrides both.

    \b
    Example:
      prime eval prices gpt-4.1-mini
    \b
    See also: `prime eval run --max-cost`, `prime eval list`.
    """
    session = open_session(ctx)
    own, shipped = user_table(), shipped_table()
    items = price_items((own, shipped), model)
    whole = ModelPrices(items, shipped.date)
    session.output.table(_COLUMNS, [_row(item) for item in items], records=items, page=whole)
    if not items:
        session.output.hint(f"add one to {own_path()}: [[price]] with model, input and output")


def _row(item: PriceItem) -> list[str]:
    amounts = (item.input, item.cached, item.output)
    shown = ["" if amount is None else format_exact(amount) for amount in amounts]
    return [", ".join(item.models), *shown, item.host or "", item.source, item.seen or ""]
