"""Options of `prime hub serve`, besides those that `hub.serving` reads itself."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from prime_cli.core.http import read_host
from prime_cli.core.options import Option
from prime_cli.hub.serving.access_log import LogFormat
from prime_cli.hub.serving.identity import PANEL as SIGN_IN
from prime_cli.hub.serving.options import HOST, LIMITS, PORT, Downloads
from prime_cli.hub.serving.pods import PANEL as PODS
from prime_cli.wire.environments import Visibility

_STORAGE, _NETWORK, _MODELS = "Storage", "Network", "Models"
PANELS = (_STORAGE, _NETWORK, LIMITS, SIGN_IN, _MODELS, PODS)
"""Headings of the help, in their order."""


@dataclass(frozen=True)
class ListenOptions:
    """Where the hub listens."""

    host: Annotated[
        str,
        Option(
            "The address to listen on.",
            show_default=HOST,
            variable="PRIME_HUB_HOST",
            parse=read_host,
        ),
    ] = HOST
    port: Annotated[
        int, Option("The port; 0 is a free one.", least=0, most=65535, variable="PRIME_HUB_PORT")
    ] = PORT


@dataclass(frozen=True)
class AccessOptions:
    """Who uses the hub, and what they see."""

    public_url: Annotated[
        str | None,
        Option(
            "The public URL of the hub.",
            metavar="URL",
            show_default="the address it listens on",
            variable="PRIME_HUB_PUBLIC_URL",
        ),
    ] = None
    admin: Annotated[
        str, Option("The first admin's name.", metavar="NAME", variable="PRIME_HUB_ADMIN")
    ] = "admin"
    members_only: Annotated[
        bool,
        Option(
            "Refuse everybody without a key, also for what is public.",
            variable="PRIME_HUB_MEMBERS_ONLY",
        ),
    ] = False
    team_admins_invite: Annotated[
        bool,
        Option(
            "Let new users sign up by invitations of team admins, too.",
            variable="PRIME_HUB_TEAM_ADMINS_INVITE",
        ),
    ] = False
    default_visibility: Annotated[
        Visibility,
        Option(
            "The visibility of new environments whose upload does not choose.",
            case_sensitive=False,
            variable="PRIME_HUB_DEFAULT_VISIBILITY",
        ),
    ] = Visibility.PUBLIC


@dataclass(frozen=True)
class NetworkOptions:
    """What is in front of the hub, and behind it."""

    tls_cert: Annotated[
        Path | None,
        Option(
            "A certificate (PEM).", metavar="FILE", panel=_NETWORK, variable="PRIME_HUB_TLS_CERT"
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        Option(
            "Its private key (PEM).", metavar="FILE", panel=_NETWORK, variable="PRIME_HUB_TLS_KEY"
        ),
    ] = None
    trusted_proxies: Annotated[
        str,
        Option(
            "Proxies whose X-Forwarded-* headers count, like 10.0.0.0/8,127.0.0.1.",
            metavar="NETWORKS",
            panel=_NETWORK,
            variable="PRIME_HUB_TRUSTED_PROXIES",
        ),
    ] = ""
    health_port: Annotated[
        int | None,
        Option(
            "Also answer /healthz here, without TLS, even while all workers are busy.",
            metavar="PORT",
            panel=_NETWORK,
            least=1,
            most=65535,
            variable="PRIME_HUB_HEALTH_PORT",
        ),
    ] = None
    upstream: Annotated[
        str,
        Option(
            "Another hub to fetch missing environments from, without a key.",
            metavar="URL|none",
            panel=_NETWORK,
            variable="PRIME_HUB_UPSTREAM",
        ),
    ] = "none"

    def values(self) -> dict[str, Any]:
        """The fields of `ServeOptions` that they set."""
        return asdict(self) | {
            "trusted_proxies": tuple(self.trusted_proxies.replace(",", " ").split()),
            "upstream": None if self.upstream == "none" else self.upstream,
        }


@dataclass(frozen=True)
class ModelOptions:
    """The models that the hub serves."""

    endpoints: Annotated[
        Path | None,
        Option(
            "Serve the models of this endpoints.toml to users, with keys that stay here.",
            metavar="FILE",
            panel=_MODELS,
            variable="PRIME_HUB_ENDPOINTS",
        ),
    ] = None
    tokens_per_month: Annotated[
        int,
        Option(
            "Tokens of those models that each user or team may use; 0 means no limit.",
            metavar="N",
            panel=_MODELS,
            least=0,
            variable="PRIME_HUB_TOKENS_PER_MONTH",
        ),
    ] = 0

    def values(self) -> dict[str, Any]:
        """The fields of `ServeOptions` that they set; processes of the hub work elsewhere."""
        return asdict(self) | {"endpoints": self.endpoints and self.endpoints.absolute()}


DownloadsOpt = Annotated[
    Downloads,
    typer.Option(
        "--downloads",
        rich_help_panel=_STORAGE,
        envvar="PRIME_HUB_DOWNLOADS",
        help="Send files of a bucket through the hub, or redirect clients to the bucket.",
    ),
]

LogFormatOpt = Annotated[
    LogFormat,
    typer.Option(
        "--log-format", envvar="PRIME_HUB_LOG_FORMAT", help="Format of the access log on stderr."
    ),
]
