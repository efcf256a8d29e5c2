"""Prices of an hour in words."""

from prime_cli.models.budget import format_usd


def hourly(price: float | None) -> str:
    """`$1.65/h` of a price in USD, or that it is not known."""
    return "a price that is not known" if price is None else f"{format_usd(price)}/h"
