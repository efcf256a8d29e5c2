"""Prime's settings and where each value came from: flag, variable, config.toml, default."""

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prime_cli.core.config import settings
from prime_cli.core.config.contexts import (
    DEFAULT,
    LOCAL,
    PRIME,
    PRIME_API_URL,
    PRIME_WEB_URL,
    Context,
    Setting,
    choose_context,
    read_table,
    read_text,
)
from prime_cli.core.config.parsers import STARTER_OWNER
from prime_cli.core.errors import UsageError
from prime_cli.core.options import refuse_empty
from prime_cli.core.paths import home_path, prime_home
from prime_cli.core.refs import slugify

__all__ = [
    "DEFAULT",
    "LOCAL",
    "PRIME",
    "PRIME_API_URL",
    "PRIME_WEB_URL",
    "STARTER_OWNER",
    "Config",
    "Context",
    "Setting",
    "load_config",
]


@dataclass(frozen=True)
class Config:
    """All settings, resolved once at the start of a command.

    `owner` is whose environments are published on the local hub, `current` the context that
    config.toml names, and `storage` where to keep keys. `env_vars` are the variables that
    environments may read, by `owner/name`.
    """

    home: Setting[Path]
    file: Path
    context: Context
    current: str | None
    owner: Setting[str]
    offline_setting: Setting[bool]
    upstream_setting: Setting[str | None]
    storage: Setting[str]
    trust: Setting[tuple[str, ...]]
    require_signature: Setting[bool]
    ssh_key_path: Setting[str | None]
    sky: Setting[str | None]
    sky_infra: Setting[tuple[str, ...]]
    sandboxes: Setting[tuple[str, ...]]
    env_vars: Mapping[str, Setting[tuple[str, ...]]] = field(default_factory=dict)

    @property
    def offline(self) -> bool:
        """Whether sockets are forbidden."""
        return self.offline_setting.value

    @property
    def upstream(self) -> str | None:
        """The origin of the hub that the local one falls back to for what it lacks."""
        return self.upstream_setting.value

    def settings(self) -> list[Setting[Any]]:
        """Every value with its source, in display order; never a key itself."""
        context = self.context
        shadows = self.current if context.source != str(self.file) else None
        return [
            self.home,
            Setting("context", context.name, context.source, shadows),
            Setting("hub", context.base_url or "in this process", context.source),
            Setting("web", context.web_url, context.source),
            Setting("team", context.team, context.team_source, context.kept_team),
            self.owner,
            self.offline_setting,
            self.upstream_setting,
            self.storage,
            self.trust,
            self.require_signature,
            self.ssh_key_path,
            self.sky,
            self.sky_infra,
            self.sandboxes,
            *self.env_vars.values(),
        ]


def load_config(*, context: str | None = None, offline: bool | None = None) -> Config:
    """Read config.toml and the environment; `context` and `offline` are the flags.

    Raises UsageError for an invalid config.toml or variable, NotFound for an unknown context.
    Writes nothing, so a read-only home is fine.
    """
    environ = os.environ
    refuse_empty((name for name in environ if name.startswith("PRIME_")), environ)
    home = prime_home()
    file = home_path(home, "config.toml")
    table = read_table(file)
    flag = None if offline is None else ("--offline" if offline else "--no-offline", offline)
    return Config(
        home=Setting("home", home, _home_source(home, environ)),
        file=file,
        context=choose_context(context, table, environ, file),
        current=read_text(table, "context", file),
        owner=_with_system_user(settings.OWNER.choose(table, environ, file)),
        offline_setting=settings.OFFLINE.choose(table, environ, file, flag=flag),
        upstream_setting=settings.UPSTREAM.choose(table, environ, file),
        storage=settings.STORAGE.choose(table, environ, file),
        trust=settings.TRUST.choose(table, environ, file),
        require_signature=settings.REQUIRE_SIGNATURE.choose(table, environ, file),
        ssh_key_path=settings.SSH_KEY_PATH.choose(table, environ, file),
        sky=settings.SKY.choose(table, environ, file),
        sky_infra=settings.SKY_INFRA.choose(table, environ, file),
        sandboxes=settings.SANDBOXES.choose(table, environ, file),
        env_vars=_env_vars(table, file),
    )


def _home_source(home: Path, environ: Mapping[str, str]) -> str:
    if environ.get("PRIME_HOME"):
        return "PRIME_HOME"
    return DEFAULT if home.name == ".prime" else "XDG_DATA_HOME"


def _env_vars(table: dict[str, Any], file: Path) -> dict[str, Setting[tuple[str, ...]]]:
    """What `[env_vars]` allows; raises UsageError if it is not a table."""
    allowed = table.get(settings.ENV_VARS, {})
    if not isinstance(allowed, dict):
        raise UsageError(f"{settings.ENV_VARS} in {file} must be a table")
    found = {}
    for environment in sorted(allowed):
        known = settings.env_vars_of(environment)
        found[environment] = known.choose({known.name: allowed[environment]}, {}, file)
    return found


def _with_system_user(owner: Setting[str]) -> Setting[str]:
    if owner.source != DEFAULT:
        return owner
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user id without a name
        return owner
    return Setting("owner", slugify(user), "system user")
