"""Which of several prices applies to an endpoint."""

import math
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from prime_cli.core.http import is_loopback
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.price_table import PriceTable, shipped_table, user_table
from prime_cli.models.prices import FREE, Price

Stated = Mapping[tuple[str, str], Price]
"""Prices stated by endpoints, by base URL and model."""


class PriceRecord(msgspec.Struct, frozen=True):
    """A price as kept by a run: USD per million tokens, and its source."""

    model: str
    host: str
    input: float
    output: float
    cached: float | None
    source: str


class PricesRecord(msgspec.Struct, frozen=True):
    """What a run was priced with: date and sha256 of the tables, and the prices used."""

    date: str | None = None
    shipped: str | None = None
    own: str | None = None
    used: list[PriceRecord] = []


class PriceBook:
    """Prices by endpoint: the registry's, then the user's table, the endpoint's own, the bundled.

    A server on this machine has a price only if the user gave it one.
    """

    def __init__(self, shipped: PriceTable, own: PriceTable, stated: Stated | None = None) -> None:
        self._shipped = shipped
        self._own = own
        self._stated = dict(stated or {})
        self._known: dict[tuple[str, str, Price | None], Price | None] = {}

    def with_stated(self, stated: Stated) -> "PriceBook":
        """The same plus prices stated by endpoints."""
        return PriceBook(self._shipped, self._own, {**self._stated, **stated})

    def price_of(self, endpoint: Endpoint) -> Price | None:
        """The price of an endpoint's model; None if unknown."""
        if endpoint.builtin:
            return FREE
        key = (endpoint.url, endpoint.model, endpoint.price)
        if key not in self._known:
            self._known[key] = self._find(endpoint)
        return self._known[key]

    def record(self) -> PricesRecord:
        """The tables in force, and each price used so far."""
        return PricesRecord(
            date=self._shipped.date,
            shipped=self._shipped.digest,
            own=self._own.digest,
            used=[
                _record(url, model, price)
                for (url, model, _), price in self._known.items()
                if price
            ],
        )

    def _find(self, endpoint: Endpoint) -> Price | None:
        if endpoint.price is not None:
            return endpoint.price
        own = self._own.find(endpoint.model, endpoint.url)
        if own is not None:
            return own.price
        if is_loopback(endpoint.url):
            return None
        stated = self._stated.get((endpoint.url, endpoint.model))
        if stated is not None:
            return stated
        shipped = self._shipped.find(endpoint.model, endpoint.url)
        return shipped.price if shipped else None


class PriceItem(msgspec.Struct, frozen=True):
    """One line of `prime eval prices`: a price, for which models, where, and since when."""

    models: tuple[str, ...]
    host: str | None
    input: float
    cached: float | None
    output: float
    source: str
    seen: str | None


def price_items(tables: Iterable[PriceTable], model: str | None = None) -> list[PriceItem]:
    """The rows of `tables` in order, only for `model` if given."""
    return [
        PriceItem(
            models=row.models,
            host=row.host,
            input=row.price.input,
            cached=row.price.cached,
            output=row.price.output,
            source=row.price.source,
            seen=row.seen,
        )
        for table in tables
        for row in table.rows
        if model is None or row.names(model)
    ]


def load_prices() -> PriceBook:
    """The bundled table and the user's; raises UsageError if that is invalid."""
    return PriceBook(shipped_table(), user_table())


def stated_price(pricing: object, host: str) -> Price | None:
    """The price in an item of GET /models, as OpenRouter or Prime Inference write it.

    The former says USD per token, as text, the latter USD per million tokens. None where it is no
    price by tokens alone: negative (it varies), or with a fee per request.
    """
    if not isinstance(pricing, Mapping) or _per_million(pricing, "request") not in (None, 0.0):
        return None
    asked, said = _amount(pricing, "input_usd_per_mtok"), _amount(pricing, "output_usd_per_mtok")
    cached = thought = None
    if asked is None or said is None:
        asked, said = _per_million(pricing, "prompt"), _per_million(pricing, "completion")
        thought = _per_million(pricing, "internal_reasoning")
        cached = _per_million(pricing, "input_cache_read")
    if asked is None or said is None or min(asked, said) < 0 or thought not in (None, 0.0, said):
        return None
    return Price(asked, said, cached or None, f"stated by {host}")


def _per_million(pricing: Mapping[str, Any], name: str) -> float | None:
    amount = _amount(pricing, name)
    return None if amount is None else round(amount * 1e6, 6)


def _amount(pricing: Mapping[str, Any], name: str) -> float | None:
    try:
        amount = float(pricing[name])
    except (KeyError, TypeError, ValueError):
        return None
    return amount if math.isfinite(amount) else None


def _record(url: str, model: str, price: Price) -> PriceRecord:
    host = urlsplit(url).netloc
    return PriceRecord(model, host, price.input, price.output, price.cached, price.source)
