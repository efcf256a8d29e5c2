"""`prime hub serve`."""

import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prime_cli.client.api.single_requests import fetch
from prime_cli.commands.contract import NETWORK, WRITES
from prime_cli.commands.hub.options import HubStore
from prime_cli.commands.options import QUIET, common_options, open_session, panel_order
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.core.http import read_host
from prime_cli.core.installation import install_command
from prime_cli.core.options import Option
from prime_cli.envs.upstream import open_upstream
from prime_cli.hub.serving.access_log import LogFormat
from prime_cli.hub.serving.identity import PANEL as SIGN_IN
from prime_cli.hub.serving.identity import IdentityOptions
from prime_cli.hub.serving.options import HOST, LIMITS, PORT, Downloads, LimitOptions, ServeOptions
from prime_cli.hub.serving.pods import PANEL as PODS
from prime_cli.hub.serving.pods import ServedPodOptions
from prime_cli.terminal.output import Output
from prime_cli.wire.environments import Visibility

if TYPE_CHECKING:
    from prime_cli.hub.serving.server import ReadyHub

_STORAGE, _NETWORK, _MODELS = "Storage", "Network", "Models"
_PANELS = (_STORAGE, _NETWORK, LIMITS, SIGN_IN, _MODELS, PODS)
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


_DownloadsOpt = Annotated[
    Downloads,
    typer.Option(
        "--downloads",
        rich_help_panel=_STORAGE,
        envvar="PRIME_HUB_DOWNLOADS",
        help="Send files of a bucket through the hub, or redirect clients to the bucket.",
    ),
]

_LogFormatOpt = Annotated[
    LogFormat,
    typer.Option(
        "--log-format", envvar="PRIME_HUB_LOG_FORMAT", help="Format of the access log on stderr."
    ),
]


@panel_order(*_PANELS)
@common_options(QUIET, effects=(NETWORK, WRITES), exits=ExitCode.ENVIRONMENT)
def serve(
    ctx: typer.Context,
    *,
    listen: ListenOptions,
    place: HubStore,
    access: AccessOptions,
    network: NetworkOptions,
    downloads: _DownloadsOpt = Downloads.PROXY,
    pods: ServedPodOptions,
    models: ModelOptions,
    limits: LimitOptions,
    identity: IdentityOptions,
    log_format: _LogFormatOpt = LogFormat.JSON,
) -> None:
    """Serve a hub over HTTP.

    The first start creates an admin and prints, once, the variables that a client needs to use
    this hub as that admin. Ctrl-C and SIGTERM stop after finishing requests in progress; a second
    one stops at once.

    \b
    Example:
      prime hub serve --data /srv/hub --public-url https://hub.example.org

    See also: `prime hub token`, `prime hub user`.
    """
    output = open_session(ctx).output
    try:
        from prime_cli.hub.serving.server import run
    except ImportError as error:
        raise UsageError(
            f"Serving a hub needs the package {error.name}, which is not installed",
            hint=f"install the extra: `{install_command('hub')}`",
        ) from error
    options = ServeOptions(
        data=place.folder,
        database=place.database,
        storage=place.storage,
        **asdict(listen),
        **asdict(access),
        **network.values(),
        **models.values(),
        **asdict(limits),
        downloads=downloads,
        log_format=log_format,
        pods=pods,
        identity=identity,
        open_upstream=open_upstream,
        fetch=fetch,
    )
    if problem := identity.check(fetch):
        output.warn(problem, hint="users cannot sign in with it until it answers")
    if options.exposed:
        output.warn(
            f"Keys are sent to {options.host} unencrypted",
            hint="use `--tls-cert` and `--tls-key`, or `--trusted-proxies` with a proxy that "
            "terminates TLS",
        )
    if options.hides_pods:
        output.warn(
            f"Pods listen on {pods.pods_host}, where users of other machines cannot reach them",
            hint="name an address of this machine that they reach with `--pods-host`",
        )
    run(options, lambda started: _announce(output, started), keep_key=not sys.stdout.isatty())


def _announce(output: Output, started: "ReadyHub") -> None:
    """Data is what a client needs, and only the first start has it all; the rest is talk."""
    output.done(f"Serving {started.database} on {started.url}")
    variables = {
        "PRIME_API_BASE_URL": started.url,
        "PRIME_FRONTEND_URL": started.url,
        "PRIME_API_KEY": started.admin_key,
        "PRIME_TRACES_OPT_OUT": "1",
    }
    if started.key_file is not None:
        _announce_file(output, variables, started.key_file)
        return
    if started.admin_key is None:
        output.hint(
            f"clients need these, or `prime login --hub {started.url}`; "
            "create keys with `prime hub token add USER`"
        )
        for name, value in variables.items():
            output.say(f"  export {name}={value or '...'}")
        return
    output.say("This is the admin's key; it is not shown again. Clients need:")
    lines = [f"export {name}={value}" for name, value in variables.items()]
    output.text("\n".join(lines), record=variables)
    output.say(f"PRIME_TRACES_OPT_OUT {_OPT_OUT}")


_OPT_OUT = "stops the official client from sending traces and this key to the public hub"


def _announce_file(output: Output, variables: dict[str, str | None], file: Path) -> None:
    """Where stdout is no terminal it may be a log, which many can read and which is kept."""
    output.say(f"The admin's key is in {file}. Store it in a safe place and delete the file")
    output.say("Clients need:")
    lines = [
        f"export {name}={value or f'$(cat {shlex.quote(str(file))})'}"
        for name, value in variables.items()
    ]
    given = {name: value for name, value in variables.items() if value is not None}
    output.text("\n".join(lines), record=given | {"PRIME_API_KEY_FILE": str(file)})
    output.say(f"PRIME_TRACES_OPT_OUT {_OPT_OUT}")
