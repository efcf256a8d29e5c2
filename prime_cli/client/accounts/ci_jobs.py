"""CI jobs without a key: their provider's token is exchanged for a key that only publishes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from prime_cli.client.api.client import HubClient
from prime_cli.client.api.single_requests import fetch
from prime_cli.core.errors import NotAllowed, Unreachable
from prime_cli.core.http import is_loopback
from prime_cli.wire.publishers import PUBLISHERS_FEATURE, MintedKey, MintRequest

ID_TOKEN = "PRIME_ID_TOKEN"  # noqa: S105 - the name of the variable
GITHUB_URL = "ACTIONS_ID_TOKEN_REQUEST_URL"
GITHUB_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"  # noqa: S105
_OK = 200


@dataclass(frozen=True)
class JobToken:
    """The token of this job, and where it came from."""

    source: str
    token: str = field(repr=False)


def find_token(audience: str, environ: Mapping[str, str]) -> JobToken | None:
    """The token of this job for `audience` (a hub's origin); None outside of such jobs.

    PRIME_ID_TOKEN wins, as GitLab's `id_tokens` set it; GitHub Actions are asked for one. Raises
    Unreachable, NotAllowed.
    """
    if token := environ.get(ID_TOKEN, "").strip():
        return JobToken(ID_TOKEN, token)
    url, secret = environ.get(GITHUB_URL), environ.get(GITHUB_TOKEN)
    if not url or not secret:
        return None
    return JobToken("GitHub Actions", _ask_github(url, secret, audience))


def lacks_permission(environ: Mapping[str, str]) -> bool:
    """Whether this is a job of GitHub Actions that may not ask for its token."""
    return environ.get("GITHUB_ACTIONS") == "true" and not environ.get(GITHUB_URL)


def mint_key(
    hub: HubClient, token: JobToken, environment: str, owner: str | None
) -> MintedKey | None:
    """A key that publishes `environment`; None from a hub that takes no tokens.

    Raises NotAllowed where no publisher is trusted or the token is refused.
    """
    if PUBLISHERS_FEATURE not in hub.capabilities().features:
        return None
    return hub.publishers.mint_key(MintRequest(token.token, environment, owner))


class _Reply(msgspec.Struct):
    value: str


def _ask_github(url: str, secret: str, audience: str) -> str:
    """One request to the runner's service, as GitHub's documentation describes it."""
    if not (url.startswith("https://") or is_loopback(url)):
        raise NotAllowed(f"{GITHUB_URL} is not an https address")
    status, body = fetch(
        f"{url}{'&' if '?' in url else '?'}audience={quote(audience, safe='')}",
        headers={"authorization": f"Bearer {secret}", "accept": "application/json"},
    )
    try:
        if status == _OK:
            return msgspec.json.decode(body, type=_Reply).value
    except msgspec.DecodeError as error:
        raise Unreachable(f"GitHub Actions gave no token: {error}") from error
    raise Unreachable(f"GitHub Actions gave no token (HTTP {status})")
