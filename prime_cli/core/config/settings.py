"""Every writable setting, in one table.

Parsing, `prime config`, its completion and docs/settings.md all derive from it.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct

from prime_cli.core.config import parsers
from prime_cli.core.config.contexts import (
    DEFAULT,
    LOCAL,
    PRIME_API_URL,
    TEAM_VARIABLES,
    URL_VARIABLES,
    Setting,
)
from prime_cli.core.errors import UsageError

T = TypeVar("T")

_KINDS: dict[type, str] = {str: "a string", bool: "true or false", list: 'a list, as ["ada"]'}
_ENVIRONMENT = re.compile(r"(?:[\w.-]+/)?[\w.-]+")
_SECRETS = ("key", "api_key", "token", "password", "prime_api_key")


class SettingSpec(Struct, Generic[T], frozen=True):
    """One setting.

    `variables` set it, the first non-empty one winning; `kind` is its type in config.toml; `parse`
    turns a text and the words that name its source into the value, or raises UsageError. `form`
    (accepted values) and `usual` (the default) are for the documentation.
    """

    name: str
    summary: str
    parse: Callable[[str, str], T]
    default: T
    usual: str
    variables: tuple[str, ...] = ()
    kind: type = str
    form: str = "text"

    def choose(
        self,
        table: Mapping[str, Any],
        environ: Mapping[str, str],
        file: Path,
        *,
        flag: tuple[str, T] | None = None,
    ) -> Setting[T]:
        """The nearest value: `flag` (its name and value), a variable, `table`, default."""
        written = self._written(table, file)
        if flag is not None:
            return Setting(self.name, flag[1], flag[0], written)
        for variable in self.variables:
            if text := environ.get(variable, "").strip():
                return Setting(self.name, self.parse(text, variable), variable, written)
        if written:
            value = self.parse(written, f"{self.name} in {file}")
            return Setting(self.name, value, str(file))
        return Setting(self.name, self.default, DEFAULT)

    def to_toml(self, text: str) -> str | bool | list[str]:
        """`text` as stored in config.toml; raises UsageError for an invalid value."""
        value = self.parse(text, self.name)
        if isinstance(value, tuple):
            return list(value)
        return value if isinstance(value, bool) else text

    def _written(self, table: Mapping[str, Any], file: Path) -> str | None:
        value = table.get(self.name)
        if value is None:
            return None
        if not isinstance(value, self.kind):
            raise UsageError(f"{self.name} in {file} must be {_KINDS[self.kind]}")
        if isinstance(value, str) and not value.strip():
            raise UsageError(f"{self.name} in {file} is empty", hint="remove the line")
        return as_text(value)


def as_text(value: Any) -> str:
    """A value as it is typed and shown: `true`, `ada, eve`; None is empty."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list() | tuple():
            return ", ".join(str(each) for each in value)
        case _:
            return str(value)


CONTEXT = SettingSpec(
    "context",
    "The hub to use: `local` is built in, `prime` is the public one",
    parsers.text,
    default=LOCAL,
    usual="`local`; `prime` if PRIME_API_KEY is set",
    variables=("PRIME_CONTEXT", *URL_VARIABLES),
    form="a name, see `prime context list`",
)
TEAM: SettingSpec[str | None] = SettingSpec(
    "team",
    "The team to publish for on that hub; saved with the context",
    parsers.text,
    default=None,
    usual="yourself",
    variables=TEAM_VARIABLES,
    form="a team, see `prime teams list`",
)
OWNER = SettingSpec(
    "owner",
    "The owner of environments published on the built-in hub",
    parsers.owner,
    default="local-user",
    usual="your user name",
    variables=("PRIME_OWNER",),
    form="a name",
)
OFFLINE = SettingSpec(
    "offline",
    "Work offline, as with `--offline`",
    parsers.boolean,
    default=False,
    usual="`false`",
    variables=("PRIME_OFFLINE",),
    kind=bool,
    form="`true` or `false`",
)
UPSTREAM: SettingSpec[str | None] = SettingSpec(
    "upstream",
    "The hub from which the built-in one fetches what it lacks",
    parsers.url_or_none,
    default=PRIME_API_URL,
    usual="the public hub",
    variables=("PRIME_UPSTREAM",),
    form="a URL, or `none`",
)
STORAGE = SettingSpec(
    "storage",
    "Where `prime login` saves keys; `auto` is a keyring if available, else a file",
    parsers.one_of("auto", "keyring", "file"),
    default="auto",
    usual="`auto`",
    variables=("PRIME_STORAGE",),
    form="`auto`, `keyring` or `file`",
)
TRUST: SettingSpec[tuple[str, ...]] = SettingSpec(
    "trust",
    "Owners whose code may run without asking",
    parsers.names,
    default=(),
    usual="nobody",
    variables=("PRIME_TRUST",),
    kind=list,
    form="owners, comma-separated",
)
REQUIRE_SIGNATURE = SettingSpec(
    "require_signature",
    "Use signed wheels only",
    parsers.boolean,
    default=False,
    usual="`false`",
    variables=("PRIME_REQUIRE_SIGNATURE",),
    kind=bool,
    form="`true` or `false`",
)
SSH_KEY_PATH: SettingSpec[str | None] = SettingSpec(
    "ssh_key_path",
    "The private key for pods, as with `--identity`",
    parsers.text,
    default=None,
    usual="`~/.ssh/id_ed25519`, `id_ecdsa`, `id_rsa`, else one that prime creates",
    variables=("PRIME_SSH_KEY_PATH",),
    form="a file; `~` is your home folder",
)

SKY: SettingSpec[str | None] = SettingSpec(
    "sky",
    "Your SkyPilot installation, as a provider of the built-in hub",
    parsers.text_or_none,
    default=None,
    usual="`none`",
    variables=("PRIME_SKY",),
    form="its command, such as `sky`, or a folder with its Python; or `none`",
)
SKY_INFRA: SettingSpec[tuple[str, ...]] = SettingSpec(
    "sky_infra",
    "Where that SkyPilot may rent machines",
    parsers.names,
    default=(),
    usual="everywhere it can",
    variables=("PRIME_SKY_INFRA",),
    kind=list,
    form="such as `aws, slurm/lab`, comma-separated",
)

SANDBOXES: SettingSpec[tuple[str, ...]] = SettingSpec(
    "sandboxes",
    "What makes sandboxes for the built-in hub, in this order",
    parsers.names,
    default=("engine", "bubblewrap"),
    usual="`engine, bubblewrap`",
    variables=("PRIME_SANDBOXES",),
    kind=list,
    form="of `engine`, `bubblewrap` and `kubernetes`, comma-separated",
)

SETTINGS: tuple[SettingSpec[Any], ...] = (
    CONTEXT,
    TEAM,
    OWNER,
    OFFLINE,
    UPSTREAM,
    STORAGE,
    TRUST,
    REQUIRE_SIGNATURE,
    SSH_KEY_PATH,
    SKY,
    SKY_INFRA,
    SANDBOXES,
)


ENV_VARS = "env_vars"
"""The table of variables allowed to environments: `env_vars.owner/name`."""


def env_vars_of(environment: str) -> SettingSpec[tuple[str, ...]]:
    """The secret-looking variables that one environment may read."""
    return SettingSpec(
        f"{ENV_VARS}.{environment}",
        "Variables that this environment may read",
        parsers.variables,
        default=(),
        usual="none",
        kind=list,
        form="names of variables, comma-separated",
    )


def environment_in(name: str) -> str | None:
    """The environment in `env-vars.owner/name`; None for other settings."""
    table, dot, environment = name.strip().partition(".")
    if not dot or table.lower().replace("-", "_") != ENV_VARS:
        return None
    if not _ENVIRONMENT.fullmatch(environment):
        raise UsageError(
            f"`{environment}` is not an environment",
            hint="write `env-vars.owner/name`, or `env-vars.name` of a local one",
        )
    return environment


def find_setting(name: str) -> SettingSpec[Any]:
    """The setting `name`, with `-` or `_`; raises UsageError for secrets and unknown names."""
    refuse_secret(name)
    environment = environment_in(name)
    if environment is not None:
        return env_vars_of(environment)
    wanted = name.strip().lower().replace("-", "_")
    for known in SETTINGS:
        if known.name == wanted:
            return known
    raise unknown_setting(name, [known.name for known in SETTINGS])


def refuse_secret(name: str) -> None:
    """Raise UsageError if `name` is a key's, which is neither written nor printed."""
    if name.strip().lower().replace("-", "_") in _SECRETS:
        raise UsageError(
            "A key is not a setting: it is never printed or read from a command line",
            hint="save one with `prime login --token-stdin`",
        )


def unknown_setting(name: str, names: list[str]) -> UsageError:
    """The message for an unknown setting."""
    nearest = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
    hint = f"did you mean `{nearest[0]}`?" if nearest else f"there are {', '.join(names)}"
    return UsageError(f"There is no setting `{name}`", hint=hint)
