"""`prime pods ssh`, also `prime pods connect`."""

import shlex
from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import PodArg
from prime_cli.commands.pods.reaching import IdentityOpt, NodeOpt, TimeoutOpt, find_way
from prime_cli.core.errors import Offline
from prime_cli.pods.ssh.aliases import keep_alias
from prime_cli.pods.ssh.files import SshFiles
from prime_cli.pods.ssh.including import include_aliases, plain_command
from prime_cli.pods.ssh.routes import Route
from prime_cli.pods.ssh.sessions import become
from prime_cli.session import Session


def ssh(
    ctx: typer.Context,
    pod: PodArg,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENT...]", help="For ssh, behind the host."),
    ] = None,
    identity: IdentityOpt = None,
    node: NodeOpt = 0,
    timeout: TimeoutOpt = None,
    printed: Annotated[
        bool, typer.Option("--print", help="Print the command of ssh, for scripts; do not run it.")
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not try first whether the pod lets you in.")
    ] = False,
    no_config: Annotated[
        bool, typer.Option("--no-config", help="Leave ~/.ssh/config alone.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Log in to a pod, once it lets you in.

    Its port and your key are waited for, its host keys are pinned, and `ssh prime-NAME` reaches
    it from then on, as editors and rsync do. With `--print` or JSON the command is printed, and
    ~/.ssh is left alone.

    \b
    Example:
      prime pods ssh my-pod
      prime pods ssh my-pod -- -L 8888:localhost:8888
      eval "$(prime pods ssh my-pod --print) nvidia-smi"
    \b
    See also: `prime pods exec`, `prime pods cp`, `prime pods status`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    route = find_way(session, pod, identity=identity, node=node, timeout=timeout, wait=not no_wait)
    argv = [*route.ssh(), *(arguments or [])]
    if printed or session.output.is_json:
        _print(session, route, argv)
        return
    if session.config.offline:
        raise Offline("`--offline` opens no connection", hint="`--print` shows the command")
    if not no_config:
        _keep(session, route, tells=not arguments)
    session.close()
    become(argv)


def _print(session: Session, route: Route, argv: list[str]) -> None:
    record = {
        "argv": argv,
        "host": route.address.host,
        "port": route.address.port,
        "user": route.address.user,
        "identity": str(route.identity.file),
        "known_hosts": str(route.known_hosts),
        "pod_id": route.pod_id,
        "node": route.node,
    }
    session.output.text(shlex.join(argv), record=record)


def _keep(session: Session, route: Route, *, tells: bool) -> None:
    files = SshFiles(session.config.home.value)
    alias = keep_alias(files, session.hub.base_url, route)
    if include_aliases(files, session.progress) and tells:
        session.output.say(f"Plain ssh knows it as `{plain_command(alias)}`")
