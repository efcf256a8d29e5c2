"""Values with their sources, and contexts: a hub's addresses and the team to publish for."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from prime_cli.core.config.parsers import normalize_hub_url, parse_hub_url
from prime_cli.core.errors import NotFound, StorageFailed, UsageError

T = TypeVar("T")

DEFAULT = "default"


class Setting(Struct, Generic[T], frozen=True):
    """One value and where it came from: a flag, a variable, a file, or `default`.

    `shadows` is the value in config.toml that a flag or a variable overrides.
    """

    name: str
    value: T
    source: str
    shadows: str | None = None


def read_table(file: Path) -> dict[str, Any]:
    """The contents of config.toml, {} if missing; raises UsageError if it is not TOML."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StorageFailed(f"{file} cannot be read: {error.strerror}") from error
    try:
        # Windows editors start the file with a byte order mark.
        return tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} is not valid TOML: {error}", hint="correct or remove the file"
        ) from error


def read_text(table: dict[str, Any], key: str, file: Path) -> str | None:
    """The text at `key`, None if missing; raises UsageError for anything else."""
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} in {file} must be a string")
    if value is not None and not value.strip():
        raise UsageError(f"{key} in {file} is empty", hint="remove the line")
    return value


LOCAL = "local"
PRIME = "prime"

PRIME_API_URL = "https://api.primeintellect.ai"
PRIME_WEB_URL = "https://app.primeintellect.ai"

_LONGEST_NAME = 64


def default_context_name(url: str) -> str:
    """The default name of a hub's context: its host, and the port if it has one."""
    if url == PRIME_API_URL:
        return PRIME
    name = re.sub(r"[^A-Za-z0-9._]+", "-", urlsplit(url).netloc).strip("-._")
    return name[:_LONGEST_NAME] or "hub"


URL_VARIABLES = ("PRIME_API_BASE_URL", "PRIME_BASE_URL")
TEAM_VARIABLES = ("PRIME_TEAM_ID", "PRIME_TEAM")
PERSONAL = "personal"
"""The word that means no team."""


@dataclass(frozen=True)
class Context:
    """A hub; `base_url` None is the hub in the box.

    `base_url` and `web_url` have no trailing slash and no `/api/v1`. `team` is the slug or id of
    the team to work for there, None for the user alone; `team_source` says where it was set, and
    `kept_team` is config.toml's value if that was a variable. `takes_key_variable` says that
    PRIME_API_KEY is a key of this hub: it belongs to the public one or to that of
    PRIME_API_BASE_URL.
    """

    name: str
    base_url: str | None
    web_url: str | None
    source: str
    team: str | None = None
    takes_key_variable: bool = False
    team_source: str = DEFAULT
    kept_team: str | None = None

    def page(self, url: str) -> str:
        """`url`, a page of this hub, at the address under which this machine knows the hub.

        A hub may call itself by a name that only its own machine resolves. The public hub's pages
        are where it says.
        """
        if self.web_url is None or self.base_url == PRIME_API_URL:
            return url
        parts = urlsplit(url)
        return self.web_url + urlunsplit(("", "", parts.path, parts.query, parts.fragment))

    @property
    def embedded(self) -> bool:
        """Whether this is the in-process hub."""
        return self.base_url is None


def choose_context(
    flag: str | None, table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Context:
    """The context named by the nearest of flag, variables and config.toml, else `local`.

    A variable for the team overrides the context's. Raises NotFound for an unknown name, UsageError
    for invalid values.
    """
    context = _nearest(flag, table, environ, file)
    if context.embedded:
        return context
    context = replace(context, takes_key_variable=context.base_url == hub_of_api_key(environ))
    for variable in TEAM_VARIABLES:
        if team := environ.get(variable, "").strip():
            chosen = None if team == PERSONAL else team
            return replace(context, team=chosen, team_source=variable, kept_team=context.team)
    return replace(context, team_source=str(file)) if context.team else context


def find_context(name: str, file: Path, source: str = "the command") -> Context:
    """The context `name` of config.toml, or a built-in one; raises NotFound, UsageError."""
    return _named(name, source, read_table(file), file)


def read_contexts(file: Path) -> list[Context]:
    """All contexts, built-in ones first, then those of config.toml; raises UsageError."""
    table = read_table(file)
    contexts = table.get("contexts")
    named = contexts if isinstance(contexts, dict) else {}
    names = [LOCAL, PRIME, *(name for name in named if name not in (LOCAL, PRIME))]
    return [_named(name, str(file), table, file) for name in names]


def _nearest(
    flag: str | None, table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Context:
    if flag:
        return _named(flag, "--context", table, file)
    if name := environ.get("PRIME_CONTEXT"):
        return _named(name, "PRIME_CONTEXT", table, file)
    for variable in URL_VARIABLES:
        if url := environ.get(variable):
            return _of_url(url, variable, table, environ, file)
    if environ.get("PRIME_API_KEY"):
        return _named(PRIME, "PRIME_API_KEY", table, file)
    if name := read_text(table, "context", file):
        return _named(name, str(file), table, file)
    return _named(LOCAL, DEFAULT, table, file)


def _named(name: str, source: str, table: dict[str, Any], file: Path) -> Context:
    contexts = table.get("contexts", {})
    entry = contexts.get(name) if isinstance(contexts, dict) else None
    entry = entry if isinstance(entry, dict) else None
    if name == LOCAL:
        return Context(LOCAL, None, None, source)
    if name == PRIME:
        team = read_text(entry or {}, "team", file)
        return Context(PRIME, PRIME_API_URL, PRIME_WEB_URL, source, team)
    if entry is None:
        known = ", ".join([LOCAL, PRIME, *(contexts if isinstance(contexts, dict) else ())])
        raise NotFound(
            f"There is no context `{name}` (named by {source})",
            hint=f"known contexts: {known}; see `prime context list`",
        )
    base_url = read_text(entry, "base_url", file)
    if not base_url:
        raise UsageError(f"Context `{name}` in {file} has no base_url")
    web_url = read_text(entry, "web_url", file) or base_url
    return Context(
        name,
        parse_hub_url(base_url, f"base_url of `{name}` in {file}"),
        parse_hub_url(web_url, f"web_url of `{name}` in {file}"),
        source,
        read_text(entry, "team", file),
    )


def _of_url(
    url: str, variable: str, table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Context:
    """The hub at `url`, under its name in config.toml, else under the variable's."""
    origin = parse_hub_url(url, variable)
    found = _at(origin, variable, table, file) or Context(variable, origin, origin, variable)
    if pages := environ.get("PRIME_FRONTEND_URL"):
        return replace(found, web_url=parse_hub_url(pages, "PRIME_FRONTEND_URL"))
    return found


def hub_of_api_key(environ: Mapping[str, str]) -> str:
    """The hub that PRIME_API_KEY belongs to: the one a variable names, else the public one.

    Raises UsageError for a variable that names no hub.
    """
    named = [url for variable in URL_VARIABLES if (url := environ.get(variable))]
    return parse_hub_url(named[0], "PRIME_API_BASE_URL") if named else PRIME_API_URL


def _at(origin: str, variable: str, table: dict[str, Any], file: Path) -> Context | None:
    """The context with this address; the current one if several have it."""
    contexts = table.get("contexts")
    entries = contexts if isinstance(contexts, dict) else {}
    at = [PRIME] if origin == PRIME_API_URL else []
    at += [
        name
        for name, entry in entries.items()
        if name not in (LOCAL, PRIME)
        and isinstance(entry, dict)
        and normalize_hub_url(str(entry.get("base_url"))) == origin
    ]
    if not at:
        return None
    current = table.get("context")
    return _named(current if current in at else at[0], variable, table, file)
