"""`prime hub serve`."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.api.providers import fetch
from prime_cli.commands.hub.options import HubStore
from prime_cli.commands.options import QUIET, common_options, open_session, panel_order
from prime_cli.core.errors import UsageError
from prime_cli.core.installation import install_command
from prime_cli.envs.upstream import open_upstream
from prime_cli.hub.serving.access_log import LogFormat
from prime_cli.hub.serving.identity import PANEL as SIGN_IN
from prime_cli.hub.serving.identity import IdentityOptions
from prime_cli.hub.serving.options import (
    HOST,
    LIMITS,
    PORT,
    Downloads,
    LimitOptions,
    ServeOptions,
)
from prime_cli.hub.serving.pods import PANEL as PODS
from prime_cli.hub.serving.pods import PodOptions
from prime_cli.terminal.output import Output
from prime_cli.wire.environments import Visibility

if TYPE_CHECKING:
    from prime_cli.hub.serving.server import Started


_STORAGE, _NETWORK, _, _SIGN_IN, _MODELS, _ = _PANELS = (
    "Storage",
    "Network",
    LIMITS,
    SIGN_IN,
    "Models",
    PODS,
)
"""Headings of the help, in their order."""


@panel_order(*_PANELS)
@common_options(QUIET)
def serve(
    ctx: typer.Context,
    *,
    host: Annotated[
        str, typer.Option("--host", envvar="PRIME_HUB_HOST", help="The address to listen on.")
    ] = HOST,
    port: Annotated[
        int,
        typer.Option(
            "--port", envvar="PRIME_HUB_PORT", min=0, max=65535, help="The port; 0 is a free one."
        ),
    ] = PORT,
    place: HubStore,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--public-url",
            envvar="PRIME_HUB_PUBLIC_URL",
            metavar="URL",
            help="The public URL of the hub.",
            show_default="the address it listens on",
        ),
    ] = None,
    admin: Annotated[
        str,
        typer.Option(
            "--admin", envvar="PRIME_HUB_ADMIN", metavar="NAME", help="The first admin's name."
        ),
    ] = "admin",
    members_only: Annotated[
        bool,
        typer.Option(
            "--members-only",
            envvar="PRIME_HUB_MEMBERS_ONLY",
            help="Refuse everybody without a key, also for what is public.",
        ),
    ] = False,
    team_admins_invite: Annotated[
        bool,
        typer.Option(
            "--team-admins-invite",
            envvar="PRIME_HUB_TEAM_ADMINS_INVITE",
            help="Let new users sign up by invitations of team admins, too.",
        ),
    ] = False,
    default_visibility: Annotated[
        Visibility,
        typer.Option(
            "--default-visibility",
            envvar="PRIME_HUB_DEFAULT_VISIBILITY",
            case_sensitive=False,
            help="The visibility of new environments whose upload does not choose.",
        ),
    ] = Visibility.PUBLIC,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert",
            rich_help_panel=_NETWORK,
            envvar="PRIME_HUB_TLS_CERT",
            metavar="FILE",
            help="A certificate (PEM).",
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            "--tls-key",
            rich_help_panel=_NETWORK,
            envvar="PRIME_HUB_TLS_KEY",
            metavar="FILE",
            help="Its private key (PEM).",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            rich_help_panel=LIMITS,
            envvar="PRIME_HUB_WORKERS",
            min=1,
            help="Number of processes.",
        ),
    ] = 1,
    trusted_proxies: Annotated[
        str,
        typer.Option(
            "--trusted-proxies",
            rich_help_panel=_NETWORK,
            envvar="PRIME_HUB_TRUSTED_PROXIES",
            metavar="NETWORKS",
            help="Proxies whose X-Forwarded-* headers count, like 10.0.0.0/8,127.0.0.1.",
        ),
    ] = "",
    health_port: Annotated[
        int | None,
        typer.Option(
            "--health-port",
            rich_help_panel=_NETWORK,
            envvar="PRIME_HUB_HEALTH_PORT",
            min=1,
            max=65535,
            metavar="PORT",
            help="Also answer /healthz here, without TLS, even while all workers are busy.",
        ),
    ] = None,
    upstream: Annotated[
        str,
        typer.Option(
            "--upstream",
            rich_help_panel=_NETWORK,
            envvar="PRIME_HUB_UPSTREAM",
            metavar="URL|none",
            help="Another hub to fetch missing environments from, without a key.",
        ),
    ] = "none",
    downloads: Annotated[
        Downloads,
        typer.Option(
            "--downloads",
            rich_help_panel=_STORAGE,
            envvar="PRIME_HUB_DOWNLOADS",
            help="Send files of a bucket through the hub, or redirect clients to the bucket.",
        ),
    ] = Downloads.PROXY,
    pods: PodOptions,
    endpoints: Annotated[
        Path | None,
        typer.Option(
            "--endpoints",
            rich_help_panel=_MODELS,
            envvar="PRIME_HUB_ENDPOINTS",
            metavar="FILE",
            help="Serve the models of this endpoints.toml to users, with keys that stay here.",
        ),
    ] = None,
    tokens_per_month: Annotated[
        int,
        typer.Option(
            "--tokens-per-month",
            rich_help_panel=_MODELS,
            envvar="PRIME_HUB_TOKENS_PER_MONTH",
            metavar="N",
            min=0,
            help="Tokens of those models that each user or team may use; 0 means no limit.",
        ),
    ] = 0,
    limits: LimitOptions,
    identity: IdentityOptions,
    log_format: Annotated[
        LogFormat,
        typer.Option(
            "--log-format",
            envvar="PRIME_HUB_LOG_FORMAT",
            help="Format of the access log on stderr.",
        ),
    ] = LogFormat.JSON,
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
        host=host,
        port=port,
        database=place.database,
        storage=place.storage,
        public_url=public_url,
        admin=admin,
        tls_cert=tls_cert,
        tls_key=tls_key,
        workers=workers,
        trusted_proxies=tuple(trusted_proxies.replace(",", " ").split()),
        **asdict(limits),
        health_port=health_port,
        upstream=None if upstream == "none" else upstream,
        open_upstream=open_upstream,
        downloads=downloads,
        pods=pods,
        log_format=log_format,
        endpoints=None if endpoints is None else endpoints.absolute(),
        tokens_per_month=tokens_per_month,
        members_only=members_only,
        team_admins_invite=team_admins_invite,
        default_visibility=default_visibility,
        identity=identity,
        fetch=fetch,
    )
    if problem := identity.check(fetch):
        output.warn(problem, hint="users cannot sign in with it until it answers")
    if options.exposed:
        output.warn(
            f"Keys are sent to {host} unencrypted",
            hint="use `--tls-cert` and `--tls-key`, or `--trusted-proxies` with a proxy that "
            "terminates TLS",
        )
    if options.hides_pods:
        output.warn(
            f"Pods listen on {pods.pods_host}, where users of other machines cannot reach them",
            hint="name an address of this machine that they reach with `--pods-host`",
        )
    run(options, lambda started: _announce(output, started), keep_key=not sys.stdout.isatty())


def _announce(output: Output, started: "Started") -> None:
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
