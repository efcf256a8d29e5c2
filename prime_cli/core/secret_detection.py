"""Detect likely credentials: environment variables by name, values by shape."""

import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

_ENDINGS = (
    "_KEY", "_KEY_ID", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PAT", "_PASS", "_PASSPHRASE",
    "_APIKEY", "_JWT", "_SECRET_KEY_BASE",
)  # fmt: skip
_WHOLE = ("PASSWORD", "PGPASSWORD", "MYSQL_PWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY")
_WITHIN = ("API_KEY",)
"""Several keys, as OPENAI_API_KEYS or OPENAI_API_KEY_2."""
_OURS = "PRIME_HUB_"
"""Only `prime hub serve` reads these, and a database URL among them may be a secret."""
_PROXY = "_PROXY"

_LEADING = frozenset(
    (
        # Agents that log in, sign, or expose a keyring.
        "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO GNOME_KEYRING_CONTROL DBUS_SESSION_BUS_ADDRESS "
        # Files of clouds, clusters, registries and databases that contain logins.
        "KUBECONFIG DOCKER_CONFIG DOCKER_AUTH_CONFIG CLOUDSDK_CONFIG AZURE_CONFIG_DIR BOTO_CONFIG "
        "NETRC PGPASSFILE PGSERVICEFILE NPM_CONFIG_USERCONFIG NPM_CONFIG__AUTH XAUTHORITY "
        # Sessions of password managers.
        "BW_SESSION"
    ).split()
)
_LEADING_ENDINGS = (
    "_KEY_FILE", "_KEY_PATH", "_KEYFILE", "_TOKEN_FILE", "_TOKEN_PATH", "_SECRET_FILE",
    "_PASSWORD_FILE", "_CONNECTION_STRING",
)  # fmt: skip

_ALWAYS = ("OPENAI_API_KEY", "PRIME_API_KEY")
_LONG = 16
"""Shorter values may be ordinary words, which would be redacted everywhere."""

INDEX_PREFIXES = ("UV_", "PIP_", "AWS_", "GIT_", "GH_", "GITHUB_", "GITLAB_", "CI_JOB_")
"""Credentials for package indexes, buckets and git servers, used by installers."""


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name usually holds a credential, as OPENAI_API_KEY does."""
    upper = name.upper()
    return upper.endswith(_ENDINGS) or upper in _WHOLE or any(word in upper for word in _WITHIN)


def points_to_credentials(name: str) -> bool:
    """Whether a variable of this name grants a login without holding the key itself.

    It names a file or a profile with credentials, or the socket of an agent that uses them.
    """
    upper = name.upper()
    if upper in _LEADING or upper.endswith(_LEADING_ENDINGS):
        return True
    is_of_a_cloud = upper.startswith("AWS_") and not upper.endswith("_REGION")
    return is_of_a_cloud or upper.startswith(_OURS) or "CREDENTIAL" in upper


def find_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The values that must never be shown, by the names of their variables."""
    return {
        name: value
        for name, value in environ.items()
        if name in _ALWAYS or (is_secret_name(name) and len(value) >= _LONG)
    }


def without_secrets(environ: Mapping[str, str], *, keep: tuple[str, ...] = ()) -> dict[str, str]:
    """`environ` without variables that hold a credential, except those that begin with `keep`.

    Also drops URLs with a password, except proxies, without which there may be no network.
    """
    return {
        name: value
        for name, value in environ.items()
        if name.upper().startswith(keep) or not _is_secret(name, value)
    }


def _is_secret(name: str, value: str) -> bool:
    upper = name.upper()
    if is_secret_name(name) or upper.startswith(_OURS):
        return True
    return not upper.endswith(_PROXY) and _has_password(value)


def _has_password(value: str) -> bool:
    if "://" not in value or "@" not in value:
        return False
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return False


PRIVATE_KEY = "private key"
CREDENTIAL_PATTERNS = {
    PRIVATE_KEY: rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "AWS access key": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": rb"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,})",
    "GitLab token": rb"\bglpat-[A-Za-z0-9_-]{20,}",
    "Hugging Face token": rb"\bhf_[A-Za-z0-9]{30,}\b",
    "Anthropic key": rb"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "OpenAI key": rb"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}",
    "Slack token": rb"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "Google key": rb"\bAIza[0-9A-Za-z_-]{35}",
    "Stripe key": rb"\b[rs]k_live_[0-9A-Za-z]{16,}",
    "PyPI token": rb"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    "npm token": rb"\bnpm_[A-Za-z0-9]{36}\b",
}
"""Patterns of bytes, by what they detect."""

ANY_CREDENTIAL = re.compile(
    b"|".join(
        b"(?P<r%d>%s)" % (index, shape) for index, shape in enumerate(CREDENTIAL_PATTERNS.values())
    )
)
"""Any of them; the group `r<index>` says which."""

_IN_TEXT = (
    re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@:]*:([^\s/?#@]+)@", re.IGNORECASE),
    # A username without a password in such a URL is a token: https://TOKEN@host.
    re.compile(r"https?://([^\s/?#@:]+)@", re.IGNORECASE),
    re.compile(
        r"(?:^|[?&;\s])(?:ssl)?(?:password|passwd|pwd|accountkey|sharedaccesskey|access_token|api_key"
        r"|apikey|token|secret)\s?=\s?([^\s&;]+)",
        re.IGNORECASE,
    ),
)
"""Logins in URLs and in connection strings; the group is the secret part."""


def contains_credential(value: str) -> bool:
    """Whether a value contains a credential.

    That is a key of a known service, a private key, a login in a URL (`https://ada:pw@host`), or a
    password in a connection string (`host=db password=pw`).
    """
    if any(pattern.search(value) for pattern in _IN_TEXT):
        return True
    return ANY_CREDENTIAL.search(value.encode("utf-8", "surrogateescape")) is not None


def extract_credentials(value: str) -> set[str]:
    """The secret parts of a value that `contains_credential`, both as written and decoded."""
    found = {match[1] for pattern in _IN_TEXT for match in pattern.finditer(value)}
    if ANY_CREDENTIAL.search(value.encode("utf-8", "surrogateescape")):
        found.add(value)
    return found | {unquote(each) for each in found}
