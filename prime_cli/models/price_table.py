"""Tables of prices: prime's bundled one, and the user's own prices.toml."""

import hashlib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import home_path, prime_home, storage_errors
from prime_cli.models.prices import Price

FILENAME = "prices.toml"


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
    content = resources.files("prime_cli.models").joinpath(FILENAME).read_bytes()
    return _parse(content, "shipped with prime")


def own_path() -> Path:
    """The path of the user's own table."""
    return home_path(prime_home(), FILENAME)


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
        input=_amount(table.get("input"), where, "input"),
        output=_amount(table.get("output"), where, "output"),
        cached=None if cached is None else _amount(cached, where, "cached"),
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


def _amount(value: object, where: str, name: str) -> float:
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
