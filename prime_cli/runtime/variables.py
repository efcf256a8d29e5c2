"""Which of the user's environment variables are passed to an environment's processes.

Ordinary ones are, as for any program; likely secrets are withheld until the user allows them by
name. This keeps honest code from using a key by accident. In a sandbox there is an allow-list
instead.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.secret_detection import (
    contains_credential,
    is_secret_name,
    points_to_credentials,
)

PROXIES = frozenset("HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy".split())
"""URLs of proxies, which may contain a password, and without which there may be no network."""

_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

# For the parent's Python, which differs from that of the environment and its children.
_OF_THIS_PYTHON = frozenset(
    "PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PYTHONPLATLIBDIR PYTHONEXECUTABLE "
    "PYTHONINSPECT PYTHONWARNINGS PYTHONSAFEPATH PYTHONPYCACHEPREFIX __PYVENV_LAUNCHER__ "
    "VIRTUAL_ENV VIRTUAL_ENV_PROMPT UV_PROJECT_ENVIRONMENT UV_PYTHON".split()
)

_WITHIN_WALLS = PROXIES | frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP TERM NO_PROXY no_proxy "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NIX_SSL_CERT_FILE "
    "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME LD_LIBRARY_PATH DYLD_LIBRARY_PATH "
    "HF_HOME HF_HUB_CACHE HF_DATASETS_CACHE HF_HUB_OFFLINE HF_DATASETS_OFFLINE HF_ENDPOINT "
    "NLTK_DATA CUDA_VISIBLE_DEVICES OMP_NUM_THREADS UV_CACHE_DIR UV_OFFLINE "
    # Windows cannot start a process, or find a home folder, without these.
    "SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT APPDATA LOCALAPPDATA USERPROFILE".split()
)
_WITHIN_WALLS_PREFIXES = ("LC_",)

# No progress bars in logs, no uploads of traces, no telemetry.
_QUIET = {
    "TQDM_DISABLE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PRIME_TRACES_OPT_OUT": "1",
}

STAND_IN, PRIME_KEY = "OPENAI_API_KEY", "PRIME_API_KEY"
"""Under these the worker sees the gateway's token."""

_OF_THE_USER = frozenset({"PRIME_CONTEXT", "PRIME_TEAM_ID", "PRIME_TEAM", "PRIME_USER_ID"})
"""For prime itself; a client of sandboxes would take them for its own, and may fail."""

HUB = "/hub"
"""Where the gateway has the API of sandboxes, beside `/v1`."""

_SHORTEST = 8
"""Shorter keys (`x`, `EMPTY`) are placeholders, and may equal other values by chance."""
_LONG = 16
"""Shorter secrets may be words, which other values contain by chance."""


@dataclass(frozen=True)
class KnownKeys:
    """Keys beyond the conventional ones: names of variables, and values."""

    names: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Variables:
    """What an environment's processes get, and the names of what is kept from them.

    `allowed` are those that the user allowed by name. `secret` are withheld as likely secrets,
    `others` for another reason.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    secret: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def share(
    base: Mapping[str, str],
    allowed: Mapping[str, str] | None = None,
    *,
    keys: KnownKeys | None = None,
    sandboxed: bool = False,
) -> Variables:
    """Sort the variables of `base`; all of `allowed` are passed, whatever they are.

    A variable looks like a secret by its name or value; `keys` are more of both. A `sandboxed`
    process gets only an allow-list.
    """
    allowed = allowed or {}
    secret = frozenset(_secret_among(base, keys or KnownKeys())).difference(allowed)
    kept = {
        name: value
        for name, value in base.items()
        if name not in secret
        and (_passes_walls(name) if sandboxed else name not in _OF_THIS_PYTHON)
    }
    given = {**kept, **_QUIET, **allowed}
    others = base.keys() - given.keys() - secret
    return Variables(given, frozenset(allowed), tuple(sorted(secret)), tuple(sorted(others)))


def worker_variables(
    variables: Variables, *, base_url: str, token: str, python: Path
) -> dict[str, str]:
    """All variables of the worker; judges with a default client also reach the gateway.

    So do clients of sandboxes, for which it is a hub. Variables that were allowed by name keep the
    user's value, even if the gateway has one.
    """
    own = {
        "OPENAI_BASE_URL": base_url,
        "PRIME_INFERENCE_URL": base_url,
        STAND_IN: token,
        "VIRTUAL_ENV": str(python.parent.parent),
    }
    if PRIME_KEY not in variables.allowed:
        own |= {"PRIME_API_BASE_URL": base_url.removesuffix("/v1") + HUB, PRIME_KEY: token}
    stand_ins = {name: value for name, value in own.items() if name not in variables.allowed}
    left_out = _OF_THE_USER - variables.allowed
    given = {name: value for name, value in variables.given.items() if name not in left_out}
    return {**given, **stand_ins}


def without_network(env: Mapping[str, str]) -> dict[str, str]:
    """`env` for a process without network: no proxies, and data sets from the local cache only."""
    return {name: value for name, value in env.items() if name not in PROXIES} | _OFFLINE


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret, by its name or its value.

    A proxy never does: programs need it, and the scrubber knows its password.
    """
    if name in PROXIES:
        return False
    return is_secret_name(name) or points_to_credentials(name) or contains_credential(value)


def _secret_among(base: Mapping[str, str], keys: KnownKeys) -> Iterator[str]:
    by_itself = {name for name, value in base.items() if is_secret(name, value)}
    same = {value for value in keys.values if len(value) >= _SHORTEST}
    values = same | {base[name] for name in by_itself if is_secret_name(name)}
    known = tuple(value for value in values if len(value) >= _LONG)
    for name, value in base.items():
        is_same = name not in PROXIES and (value in same or _holds_any(value, known))
        if name in by_itself or name in keys.names or is_same:
            yield name


def _holds_any(value: str, known: Collection[str]) -> bool:
    """A key inside another variable is a key: `AUTH=Bearer sk-…`."""
    return len(value) >= _LONG and any(secret in value for secret in known)


def _passes_walls(name: str) -> bool:
    return name in _WITHIN_WALLS or name.startswith(_WITHIN_WALLS_PREFIXES)
