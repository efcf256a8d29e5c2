"""What keys of known services look like, whatever they are called."""

import re
from urllib.parse import unquote

PRIVATE_KEY = "private key"
SHAPES = {
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
"""Patterns of bytes, by what they find."""

ANY = re.compile(
    b"|".join(b"(?P<r%d>%s)" % (index, shape) for index, shape in enumerate(SHAPES.values()))
)
"""Any of them; the group `r<index>` says which."""

_IN_TEXT = (
    re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@:]*:([^\s/?#@]+)@", re.IGNORECASE),
    # A name without a password in such an address is a token: https://TOKEN@host.
    re.compile(r"https?://([^\s/?#@:]+)@", re.IGNORECASE),
    re.compile(
        r"(?:^|[?&;\s])(?:ssl)?(?:password|passwd|pwd|accountkey|sharedaccesskey|access_token|api_key"
        r"|apikey|token|secret)\s?=\s?([^\s&;]+)",
        re.IGNORECASE,
    ),
)
"""Logins in addresses and in connection strings; the group is what is secret of them."""


def holds_credential(value: str) -> bool:
    """Whether a value has a credential in it.

    That is a key of a known service, a private key, a login in an address (`https://ada:pw@host`),
    or a password in a connection string (`host=db password=pw`).
    """
    if any(pattern.search(value) for pattern in _IN_TEXT):
        return True
    return ANY.search(value.encode("utf-8", "surrogateescape")) is not None


def credentials_in(value: str) -> set[str]:
    """What is secret in a value that `holds_credential`, as it is written and as it is meant."""
    found = {match[1] for pattern in _IN_TEXT for match in pattern.finditer(value)}
    if ANY.search(value.encode("utf-8", "surrogateescape")):
        found.add(value)
    return found | {unquote(each) for each in found}
