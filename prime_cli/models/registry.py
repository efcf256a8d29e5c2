"""The endpoint registry: `endpoints.toml`, or the older `endpoints.py`."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import home_path, prime_home, storage_errors
from prime_cli.models.endpoints_py import EnvironReference, read_endpoints_dict
from prime_cli.models.price_book import read_price
from prime_cli.models.prices import Price
from prime_cli.models.providers import EndpointSecret, KeySource

CHAT = "openai_chat_completions"
_OPENAI_TYPES = (CHAT, "openai_completions", "openai_responses")


class EndpointTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """`[[endpoint]]`: `key` names a variable, `price` is in USD per million tokens."""

    endpoint_id: str
    model: str
    url: str
    key: str | None = None
    type: str = CHAT
    headers: dict[str, str] = {}
    price: dict[Literal["input", "output", "cached"], float] | None = None


class EndpointsFile(msgspec.Struct, frozen=True):
    """endpoints.toml, for `prime schema`; `load_registry` also reads the names of vf-eval."""

    endpoint: list[EndpointTable]


@dataclass(frozen=True)
class RegistryEntry:
    """One entry of a registry; several with the same alias form a round-robin group."""

    alias: str
    model: str
    url: str
    key: KeySource
    type: str = CHAT
    headers: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None

    @property
    def speaks_openai(self) -> bool:
        """Whether the endpoint uses OpenAI's format."""
        return self.type in _OPENAI_TYPES


@dataclass(frozen=True)
class Registry:
    """The contents of a registry file; `explicit` if the user named the file with `-e`."""

    path: Path | None = None
    entries: tuple[RegistryEntry, ...] = ()
    explicit: bool = False

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every alias once, in the order of the file."""
        return tuple(dict.fromkeys(entry.alias for entry in self.entries))

    def find(self, name: str) -> tuple[RegistryEntry, ...]:
        """The entries of the alias `name`, else of the first alias whose `model` is `name`."""
        by_alias = tuple(entry for entry in self.entries if entry.alias == name)
        if by_alias:
            return by_alias
        by_model = [entry for entry in self.entries if entry.model == name]
        return tuple(entry for entry in by_model if entry.alias == by_model[0].alias)


def load_registry(
    path: Path | None, cwd: Path, environ: Mapping[str, str] | None = None
) -> Registry:
    """The registry at `path` (a file, or a folder that holds one), else the default one.

    Without `path`: ./configs/endpoints.toml, ./endpoints.toml, ./configs/endpoints.py,
    ./endpoints.py, then endpoints.toml in prime's home; an empty registry if there is none. Raises
    NotFound if `path` is missing, UsageError if a file is invalid.
    """
    environ = os.environ if environ is None else environ
    if path is not None:
        return _read(_named_file(cwd / path.expanduser()), environ, explicit=True)
    for candidate in _default_files(cwd):
        if candidate.is_file():
            return _read(candidate, environ, explicit=False)
    return Registry()


def _default_files(cwd: Path) -> list[Path]:
    return [
        cwd / "configs" / "endpoints.toml",
        cwd / "endpoints.toml",
        cwd / "configs" / "endpoints.py",
        cwd / "endpoints.py",
        home_path(prime_home(), "endpoints.toml"),
    ]


def _named_file(path: Path) -> Path:
    if path.is_dir():
        for name in ("endpoints.toml", "endpoints.py"):
            if (path / name).is_file():
                return path / name
        raise NotFound(
            f"There is no endpoints.toml or endpoints.py in {path}",
            hint="pass the file itself with `-e FILE`",
        )
    if not path.is_file():
        raise NotFound(
            f"There is no endpoint registry at {path}",
            hint="choose another with `-e FILE`, or omit `-e` and pass `-b URL -k KEYVAR`",
        )
    return path


def _read(path: Path, environ: Mapping[str, str], *, explicit: bool) -> Registry:
    with storage_errors(path):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error
    if path.suffix == ".py":
        found = read_endpoints_dict(text, path=str(path), environ=environ)
        tables = [{"endpoint_id": alias, **table} for alias, table in found.items()]
    else:
        tables = _toml_tables(text, path)
    entries = tuple(_entry(table, path, environ) for table in tables)
    return Registry(path, entries, explicit)


def _toml_tables(text: str, path: Path) -> list[dict[str, Any]]:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    tables = document.get("endpoint", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(
            f"`endpoint` in {path} is not a list of tables",
            hint="start each entry with a line `[[endpoint]]`",
        )
    return tables


def _entry(table: Mapping[str, Any], path: Path, environ: Mapping[str, str]) -> RegistryEntry:
    def text(*names: str) -> str:
        return _field(table, names, path, environ)

    alias = text("endpoint_id")
    return RegistryEntry(
        alias=alias,
        model=text("model"),
        url=text("url", "api_base_url"),
        key=_key(table, path),
        type=text("type", "api_client_type") if _has(table, "type", "api_client_type") else CHAT,
        headers=_headers(table, alias, path, environ),
        price=_price(table, alias, path),
    )


def _price(table: Mapping[str, Any], alias: str, path: Path) -> Price | None:
    raw = table.get("price")
    return None if raw is None else read_price(raw, f"`{alias}` in {path}", str(path))


def _has(table: Mapping[str, Any], *names: str) -> bool:
    return any(table.get(name) is not None for name in names)


def _field(
    table: Mapping[str, Any], names: tuple[str, ...], path: Path, environ: Mapping[str, str]
) -> str:
    for name in names:
        value = table.get(name)
        if isinstance(value, EnvironReference):
            value = value.find(environ)
        if isinstance(value, str) and value:
            return value
    label = table.get("endpoint_id", "an entry")
    raise UsageError(
        f"`{label}` in {path} has no string for `{names[0]}`",
        hint='an entry needs endpoint_id = "…", model = "…", url = "…", key = "VARIABLE"',
    )


def _key(table: Mapping[str, Any], path: Path) -> KeySource:
    value = next((table[name] for name in ("key", "api_key_var") if name in table), None)
    match value:
        case EnvironReference(name=name, default=default):
            return KeySource(name, EndpointSecret(default) if default else None)
        case str() if value:
            return KeySource.parse(value)
        case None:
            return KeySource()
    fault = "empty" if value == "" else "not a string"
    raise UsageError(f"`key` of `{table.get('endpoint_id')}` in {path} is {fault}")


def _headers(
    table: Mapping[str, Any], alias: str, path: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    raw = table.get("headers", table.get("extra_headers")) or {}
    if not isinstance(raw, dict):
        raise UsageError(f"`headers` of `{alias}` in {path} is not a table")
    found = {
        name: value.find(environ) if isinstance(value, EnvironReference) else value
        for name, value in raw.items()
    }
    headers = {name: value for name, value in found.items() if isinstance(value, str)}
    if len(headers) != len(found):
        raise UsageError(f"a header of `{alias}` in {path} is not a string")
    return headers
