"""What prime is set to, and where each value came from: flag, environment, config.toml, default."""

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.core.config.contexts import PRIME_API_URL, Context, choose_context, origin_of
from prime_cli.core.config.settings import DEFAULT, Setting, read_table, read_text
from prime_cli.core.config.trusting import choose_require_signature, choose_trust
from prime_cli.core.errors import UsageError
from prime_cli.core.paths import prime_home
from prime_cli.core.refs import slugify

STARTER_OWNER = "starter"
"""Owner of the environments that come with prime; always on the local hub."""
_FALSE = frozenset({"", "0", "false", "no", "off"})


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
    trust: Setting[tuple[str, ...]]
    require_signature: Setting[bool]

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
            Setting("team", context.team, context.team_source),
            self.owner,
            self.offline_setting,
            self.upstream_setting,
            Setting("trust", ", ".join(self.trust.value) or None, self.trust.source),
            self.require_signature,
        ]


def load_config(*, context: str | None = None, offline: bool | None = None) -> Config:
    """Read config.toml and the environment; `context` and `offline` are the flags.

    Raises UsageError for a config.toml or a variable that cannot be understood, NotFound for a
    context that does not exist. Writes nothing, so a read-only home is fine.
    """
    environ = os.environ
    home = prime_home()
    file = home / "config.toml"
    table = read_table(file)
    return Config(
        home=Setting("home", home, "PRIME_HOME" if environ.get("PRIME_HOME") else DEFAULT),
        file=file,
        context=choose_context(context, table, environ, file),
        owner=_choose_owner(table, environ, file),
        upstream_setting=_choose_upstream(table, environ, file),
        offline_setting=_choose_offline(table, environ, file, flag=offline),
        trust=choose_trust(table, environ, file),
        require_signature=choose_require_signature(table, environ, file),
    )


def _choose_owner(table: dict[str, Any], environ: Mapping[str, str], file: Path) -> Setting[str]:
    if name := environ.get("PRIME_OWNER"):
        return Setting("owner", _checked_owner(name, "PRIME_OWNER"), "PRIME_OWNER")
    if name := read_text(table, "owner", file):
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
        value, source = read_text(table, "upstream", file), str(file)
    if not value:
        return Setting("upstream", PRIME_API_URL, DEFAULT)
    if value.lower() == "none":
        return Setting("upstream", None, source)
    if not value.startswith(("http://", "https://")):
        raise UsageError(
            f"upstream is `{value}` ({source}), which is not a URL",
            hint="write the address of a hub, or `none`",
        )
    return Setting("upstream", origin_of(value), source)
