"""`prime hub serve`."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from prime_cli.client.api.providers import fetch
from prime_cli.commands.contract import NETWORK, WRITES
from prime_cli.commands.hub.options import HubStore
from prime_cli.commands.hub.serve_options import (
    PANELS,
    AccessOptions,
    DownloadsOpt,
    ListenOptions,
    LogFormatOpt,
    ModelOptions,
    NetworkOptions,
)
from prime_cli.commands.options import QUIET, common_options, open_session, panel_order
from prime_cli.core.errors import ExitCode, UsageError
from prime_cli.core.installation import install_command
from prime_cli.envs.upstream import open_upstream
from prime_cli.hub.serving.access_log import LogFormat
from prime_cli.hub.serving.identity import IdentityOptions
from prime_cli.hub.serving.options import Downloads, LimitOptions, ServeOptions
from prime_cli.hub.serving.pods import ServedPodOptions
from prime_cli.terminal.output import Output

if TYPE_CHECKING:
    from prime_cli.hub.serving.server import ReadyHub


@panel_order(*PANELS)
@common_options(QUIET, effects=(NETWORK, WRITES), exits=ExitCode.ENVIRONMENT)
def serve(
    ctx: typer.Context,
    *,
    listen: ListenOptions,
    place: HubStore,
    access: AccessOptions,
    network: NetworkOptions,
    downloads: DownloadsOpt = Downloads.PROXY,
    pods: ServedPodOptions,
    models: ModelOptions,
    limits: LimitOptions,
    identity: IdentityOptions,
    log_format: LogFormatOpt = LogFormat.JSON,
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
