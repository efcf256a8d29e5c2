"""Tables of prices, prime's bundled one and the user's prices.toml, and which price applies."""

import hashlib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.http import is_loopback
from prime_cli.core.paths import home_path, prime_home, storage_errors
from prime_cli.models.prices import FREE, Price

if TYPE_CHECKING:
    from prime_cli.models.endpoints import Endpoint

_FILENAME = "prices.toml"

Stated = Mapping[tuple[str, str], Price]
"""Prices stated by endpoints, by base URL and model."""


@dataclass(frozen=True)
class PriceRow:
    """One `[[price]]`: patterns of model names, where they are served (None: anywhere), a price."""

    models: tuple[str, ...]
    price: Price
    host: str | None = None
    seen: str | None = None

    def fits(self, model: str, url: str) -> bool:
        """Whether it applies to `model` at the endpoint `url`."""
        return self._is_served_at(url) and self.names(model)

    def names(self, model: str) -> bool:
        """Whether it applies to `model`, wherever that is served."""
        return any(fnmatchcase(model, name) for name in self.models)

    def _is_served_at(self, url: str) -> bool:
        parts = urlsplit(url)
        return self.host is None or any(
            fnmatchcase(place, self.host) for place in (parts.netloc, parts.hostname or "")
        )

    def exactness(self, model: str) -> tuple[bool, bool]:
        """Sort key for matching rows: exact names first, then those with a host."""
        return model in self.models, self.host is not None


@dataclass(frozen=True)
class PriceTable:
    """The rows of a file; `digest` is the sha256 of its bytes, `date` what it says of itself."""

    name: str
    rows: tuple[PriceRow, ...] = ()
    digest: str | None = None
    date: str | None = None

    def find(self, model: str, url: str) -> PriceRow | None:
        """The row for `model` at `url`: the most exact, of equal ones the first."""
        fitting = [row for row in self.rows if row.fits(model, url)]
        return max(fitting, key=lambda row: row.exactness(model), default=None)


def shipped_table() -> PriceTable:
    """The table bundled with prime."""
    content = resources.files("prime_cli.models").joinpath(_FILENAME).read_bytes()
    return _parse(content, "shipped with prime")


def own_path() -> Path:
    """The path of the user's own table."""
    return home_path(prime_home(), _FILENAME)


def user_table(path: Path | None = None) -> PriceTable:
    """The user's own table, by default prices.toml in prime's home; empty if missing.

    Raises UsageError naming the file if it is invalid.
    """
    path = own_path() if path is None else path
    if not path.is_file():
        return PriceTable(str(path))
    with storage_errors(path):
        return _parse(path.read_bytes(), str(path))


def read_price(table: object, where: str, source: str) -> Price:
    """A Price from `{input, output, cached?}`; raises UsageError that names `where`."""
    if not isinstance(table, Mapping):
        raise _bad(where, "the price must be a table with `input` and `output`")
    cached = table.get("cached")
    return Price(
        input=_usd_per_million(table.get("input"), where, "input"),
        output=_usd_per_million(table.get("output"), where, "output"),
        cached=None if cached is None else _usd_per_million(cached, where, "cached"),
        source=source,
    )


def _parse(content: bytes, name: str) -> PriceTable:
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is not TOML: {error}") from error
    found = document.get("price", [])
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise _bad(name, "`price` must be a list of tables")
    date = document.get("date")
    rows = tuple(_row(table, name) for table in found)
    digest = hashlib.sha256(content).hexdigest()
    return PriceTable(name, rows, digest, None if date is None else str(date))


def _row(table: dict[str, Any], name: str) -> PriceRow:
    listed = table.get("model")
    models = [listed] if isinstance(listed, str) else listed
    if not isinstance(models, list) or not models or not all(isinstance(m, str) for m in models):
        raise _bad(name, "a price has no `model`")
    host, seen = table.get("host"), table.get("seen")
    if host is not None and not isinstance(host, str):
        raise _bad(name, f"`host` of `{models[0]}` is not a string")
    source = str(table.get("source") or name)
    price = read_price(table, f"`{models[0]}` in {name}", source)
    return PriceRow(tuple(models), price, host, None if seen is None else str(seen))


def _usd_per_million(value: object, where: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(where, f"`{name}` is not a number of USD per million tokens")
    if not math.isfinite(value) or value < 0:
        raise _bad(where, f"`{name}` is not a price: {value}")
    return float(value)


def _bad(where: str, what: str) -> UsageError:
    return UsageError(
        f"{where}: {what}",
        hint='an entry is [[price]] with model = "NAME", input = 0.40 and output = 1.60',
    )


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

    def price_of(self, endpoint: "Endpoint") -> Price | None:
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

    def _find(self, endpoint: "Endpoint") -> Price | None:
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
