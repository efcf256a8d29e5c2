"""Options of a served hub for users and CI jobs that a provider vouches for."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from prime_cli.core.errors import Unreachable, UsageError
from prime_cli.core.options import Option
from prime_cli.core.paths import storage_errors
from prime_cli.hub.identity import Fetch, SignInSettings
from prime_cli.hub.identity.issuers import Issuers, require_safe
from prime_cli.wire.publishers import GITHUB, GITLAB

PANEL = "Sign-in"
CLIENT_SECRET = "PRIME_HUB_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of the variable
NO_ISSUERS = "none"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.replace(",", " ").split())


@dataclass(frozen=True)
class IdentityOptions:
    """The provider of `prime hub serve`, and the issuers of tokens of CI jobs.

    The client's secret is no option, so that no list of processes shows it: it is the variable
    PRIME_HUB_OIDC_CLIENT_SECRET, or in a file.
    """

    oidc_issuer: Annotated[
        str | None,
        Option(
            "Let users sign in with this OpenID Connect provider.",
            metavar="URL",
            panel=PANEL,
            variable="PRIME_HUB_OIDC_ISSUER",
        ),
    ] = None
    oidc_client_id: Annotated[
        str | None,
        Option(
            "The id of the hub as a client of the provider.",
            metavar="ID",
            panel=PANEL,
            variable="PRIME_HUB_OIDC_CLIENT_ID",
        ),
    ] = None
    oidc_client_secret_file: Annotated[
        Path | None,
        Option(
            "A file (mode 0600) with the secret of that client.",
            metavar="FILE",
            panel=PANEL,
            show_default=f"the variable {CLIENT_SECRET}",
            variable="PRIME_HUB_OIDC_CLIENT_SECRET_FILE",
        ),
    ] = None
    oidc_name: Annotated[
        str | None,
        Option(
            "What the page calls the provider.",
            metavar="NAME",
            panel=PANEL,
            show_default="its host",
            variable="PRIME_HUB_OIDC_NAME",
        ),
    ] = None
    oidc_domains: Annotated[
        str,
        Option(
            "Let in only users with a verified address in these domains.",
            metavar="DOMAINS",
            panel=PANEL,
            variable="PRIME_HUB_OIDC_DOMAINS",
        ),
    ] = ""
    oidc_groups: Annotated[
        str,
        Option(
            "Let in only users with one of these in the claim `groups`.",
            metavar="GROUPS",
            panel=PANEL,
            variable="PRIME_HUB_OIDC_GROUPS",
        ),
    ] = ""
    oidc_username_claim: Annotated[
        str,
        Option(
            "The claim that new users are named after.",
            metavar="CLAIM",
            panel=PANEL,
            variable="PRIME_HUB_OIDC_USERNAME_CLAIM",
        ),
    ] = "preferred_username"
    oidc_no_sign_up: Annotated[
        bool,
        Option(
            "Let only people sign in who have a user here.",
            panel=PANEL,
            variable="PRIME_HUB_OIDC_NO_SIGN_UP",
        ),
    ] = False
    oidc_key_days: Annotated[
        int,
        Option(
            "Days until keys of such logins expire; 0 means never.",
            metavar="N",
            least=0,
            most=3650,
            panel=PANEL,
            variable="PRIME_HUB_OIDC_KEY_DAYS",
        ),
    ] = 0
    publisher_issuers: Annotated[
        str,
        Option(
            "Whose tokens let CI jobs publish; `none` for nobody's.",
            metavar="URLS",
            panel=PANEL,
            show_default="GitHub Actions and gitlab.com",
            variable="PRIME_HUB_PUBLISHER_ISSUERS",
        ),
    ] = f"{GITHUB},{GITLAB}"

    def sign_in(self) -> SignInSettings | None:
        """The provider, with the secret; raises UsageError, StorageFailed."""
        if self.oidc_issuer is None:
            if self.oidc_client_id is not None:
                raise UsageError("`--oidc-client-id` needs `--oidc-issuer`")
            return None
        if self.oidc_client_id is None:
            raise UsageError(
                "`--oidc-issuer` needs `--oidc-client-id`",
                hint="register the hub as a client of the provider",
            )
        _check_issuer("--oidc-issuer", self.oidc_issuer)
        return SignInSettings(
            issuer=self.oidc_issuer,
            client_id=self.oidc_client_id,
            client_secret=self._secret(),
            name=self.oidc_name or urlsplit(self.oidc_issuer).hostname or "",
            domains=frozenset(each.lower() for each in _words(self.oidc_domains)),
            groups=_words(self.oidc_groups),
            username=self.oidc_username_claim,
            sign_up=not self.oidc_no_sign_up,
            key_days=self.oidc_key_days,
        )

    def issuers(self) -> frozenset[str]:
        """The issuers for CI jobs; raises UsageError."""
        if self.publisher_issuers.strip() == NO_ISSUERS:
            return frozenset()
        issuers = _words(self.publisher_issuers)
        for issuer in issuers:
            _check_issuer("--publisher-issuers", issuer)
        return issuers

    def check(self, fetch: Fetch, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> str:
        """Why users cannot sign in with the provider now; `` if they can."""
        if self.oidc_issuer is None:
            return ""
        try:
            Issuers(fetch, clock).metadata(self.oidc_issuer)
        except Unreachable as error:
            return error.message
        return ""

    def _secret(self) -> str | None:
        """The secret; None for a public client, which has only PKCE."""
        if self.oidc_client_secret_file is None:
            return os.environ.get(CLIENT_SECRET) or None
        path = self.oidc_client_secret_file
        with storage_errors(path):
            if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise UsageError(
                    f"Other users of this machine can read {path}", hint=f"run `chmod 600 {path}`"
                )
            return path.read_text(encoding="utf-8").strip() or None


def _check_issuer(option: str, url: str) -> None:
    try:
        require_safe(url, url)
        sound = not (urlsplit(url).query or urlsplit(url).fragment)
    except (Unreachable, ValueError):
        sound = False
    if not sound:
        raise UsageError(
            f"`{option}` is not the https address of a provider",
            hint=f"write it as `{option} https://login.example.org`",
        )
