"""What prime is set to, and where each value came from: flag, environment, config.toml, default."""

import getpass
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from prime_cli.core.errors import NotFound, StorageFailed, UsageError
from prime_cli.core.paths import prime_home
from prime_cli.core.refs import slugify

T = TypeVar("T")

LOCAL = "local"
PRIME = "prime"
STARTER_OWNER = "starter"
"""Owner of the environments that come with prime; always on the local hub."""

PRIME_API_URL = "https://api.primeintellect.ai"
PRIME_WEB_URL = "https://app.primeintellect.ai"
DEFAULT = "default"
_FALSE = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One value and where it came from: a flag, a variable, a file, or `default`."""

    name: str
    value: T
    source: str


@dataclass(frozen=True)
class Context:
    """A hub and the key for it; `base_url` None is the hub in the box.

    `base_url` has no trailing slash and no `/api/v1`. The key is sent to this hub only.
    """

    name: str
    base_url: str | None
    web_url: str | None
    key: str | None
    key_source: str
    source: str

    @property
    def embedded(self) -> bool:
        """Whether this is the hub that runs in process."""
        return self.base_url is None

    def __repr__(self) -> str:
        return f"Context({self.name!r}, {self.base_url!r}, key={'set' if self.key else None})"


@dataclass(frozen=True)
class Config:
    """Everything that is set, decided once at the start of a command.

    `owner` is whose environments are published on the local hub.
    """

    home: Setting[Path]
    file: Path
    context: Context
    owner: Setting[str]
    offline_setting: Setting[bool]
    upstream_setting: Setting[str | None]

    @property
    def offline(self) -> bool:
        """Whether no socket may be opened."""
        return self.offline_setting.value

    @property
    def upstream(self) -> str | None:
        """The origin of the hub that the local one asks for what it does not have."""
        return self.upstream_setting.value

    def settings(self) -> list[Setting[Any]]:
        """Every value with its source, in the order they are shown; never a key itself."""
        context = self.context
        return [
            self.home,
            Setting("context", context.name, context.source),
            Setting("hub", context.base_url or "in this process", context.source),
            Setting("web", context.web_url, context.source),
            Setting("key", "set" if context.key else None, context.key_source),
            self.owner,
            self.offline_setting,
            self.upstream_setting,
        ]


def load_config(*, context: str | None = None, offline: bool | None = None) -> Config:
    """Read config.toml and the environment; `context` and `offline` are the flags.

    Raises UsageError for a config.toml or a variable that cannot be understood, NotFound for a
    context that does not exist. Writes nothing, so a read-only home is fine.
    """
    environ = os.environ
    home = prime_home()
    file = home / "config.toml"
    table = _read_table(file)
    return Config(
        home=Setting("home", home, "PRIME_HOME" if environ.get("PRIME_HOME") else DEFAULT),
        file=file,
        context=_choose_context(context, table, environ, file),
        owner=_choose_owner(table, environ, file),
        upstream_setting=_choose_upstream(table, environ, file),
        offline_setting=_choose_offline(table, environ, file, flag=offline),
    )


def _read_table(file: Path) -> dict[str, Any]:
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StorageFailed(f"{file} cannot be read: {error.strerror}") from error
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} is not valid TOML: {error}", hint="correct the file, or move it away"
        ) from error


def _choose_context(
    flag: str | None, table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Context:
    if flag:
        return _named_context(flag, "--context", table, environ, file)
    if name := environ.get("PRIME_CONTEXT"):
        return _named_context(name, "PRIME_CONTEXT", table, environ, file)
    for variable in ("PRIME_API_BASE_URL", "PRIME_BASE_URL"):
        if url := environ.get(variable):
            return _context_of_url(url, variable, environ)
    if environ.get("PRIME_API_KEY"):
        return _named_context(PRIME, "PRIME_API_KEY", table, environ, file)
    if name := _text(table, "context", file):
        return _named_context(name, str(file), table, environ, file)
    return _named_context(LOCAL, DEFAULT, table, environ, file)


def _named_context(
    name: str, source: str, table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Context:
    if name == LOCAL:
        return Context(LOCAL, None, None, None, "no key needed", source)
    if name == PRIME:
        return _served(PRIME, PRIME_API_URL, PRIME_WEB_URL, source, environ)
    contexts = table.get("contexts", {})
    entry = contexts.get(name) if isinstance(contexts, dict) else None
    if not isinstance(entry, dict):
        known = ", ".join([LOCAL, PRIME, *(contexts if isinstance(contexts, dict) else ())])
        raise NotFound(
            f"There is no context `{name}` (named by {source})",
            hint=f"known contexts: {known}; see `prime config show`",
        )
    base_url = _text(entry, "base_url", file)
    if not base_url:
        raise UsageError(f"Context `{name}` in {file} has no base_url")
    web_url = _text(entry, "web_url", file) or base_url
    # PRIME_API_KEY belongs to the public hub or to PRIME_API_BASE_URL, so it is not sent here.
    return Context(name, _origin(base_url), _origin(web_url), None, "not set", source)


def _context_of_url(url: str, variable: str, environ: Mapping[str, str]) -> Context:
    if not url.startswith(("http://", "https://")):
        raise UsageError(
            f"{variable} is `{url}`, which is not a URL", hint="write `https://…` or `http://…`"
        )
    origin = _origin(url)
    web_url = environ.get("PRIME_FRONTEND_URL") or origin
    return _served(variable, origin, _origin(web_url), variable, environ)


def _served(
    name: str, base_url: str, web_url: str, source: str, environ: Mapping[str, str]
) -> Context:
    key = environ.get("PRIME_API_KEY") or None
    return Context(name, base_url, web_url, key, "PRIME_API_KEY" if key else "not set", source)


def _origin(url: str) -> str:
    """The URL as the official client reads it: no trailing slash, no trailing `/api/v1`."""
    return url.rstrip("/").removesuffix("/api/v1").rstrip("/")


def _choose_owner(table: dict[str, Any], environ: Mapping[str, str], file: Path) -> Setting[str]:
    if name := environ.get("PRIME_OWNER"):
        return Setting("owner", _checked_owner(name, "PRIME_OWNER"), "PRIME_OWNER")
    if name := _text(table, "owner", file):
        return Setting("owner", _checked_owner(name, f"owner in {file}"), str(file))
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user id without a name
        return Setting("owner", "local-user", DEFAULT)
    return Setting("owner", slugify(user), "system user")


def _checked_owner(name: str, source: str) -> str:
    slug = slugify(name)
    if slug != name:
        raise UsageError(f"`{name}` ({source}) is not an owner name", hint=f"write `{slug}`")
    if name == STARTER_OWNER:
        raise UsageError(
            f"`{name}` ({source}) is the owner of the built-in environments", hint="choose another"
        )
    return name


def _choose_offline(
    table: dict[str, Any], environ: Mapping[str, str], file: Path, *, flag: bool | None
) -> Setting[bool]:
    if flag is not None:
        return Setting("offline", flag, "--offline" if flag else "--no-offline")
    if (word := environ.get("PRIME_OFFLINE")) is not None:
        return Setting("offline", word.strip().lower() not in _FALSE, "PRIME_OFFLINE")
    value = table.get("offline")
    if value is None:
        return Setting(name="offline", value=False, source=DEFAULT)
    if not isinstance(value, bool):
        raise UsageError(f"offline in {file} must be true or false")
    return Setting("offline", value, str(file))


def _choose_upstream(
    table: dict[str, Any], environ: Mapping[str, str], file: Path
) -> Setting[str | None]:
    """PRIME_UPSTREAM, else `upstream` in the file, else the public hub; `none` is no upstream."""
    value, source = environ.get("PRIME_UPSTREAM"), "PRIME_UPSTREAM"
    if not value:
        value, source = _text(table, "upstream", file), str(file)
    if not value:
        return Setting("upstream", PRIME_API_URL, DEFAULT)
    if value.lower() == "none":
        return Setting("upstream", None, source)
    if not value.startswith(("http://", "https://")):
        raise UsageError(
            f"upstream is `{value}` ({source}), which is not a URL",
            hint="write the address of a hub, or `none`",
        )
    return Setting("upstream", _origin(value), source)


def _text(table: dict[str, Any], key: str, file: Path) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} in {file} must be text")
    return value
