"""`prime pods ssh`, also `prime pods connect`, `exec` and `cp`."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from prime_cli.client.pods.lookup import HistoryMatch, find_present_or_past
from prime_cli.client.pods.ssh.config import SshFiles, include_aliases, keep_alias, plain_command
from prime_cli.client.pods.ssh.connect import ConnectOptions, connect, find_route
from prime_cli.client.pods.ssh.exec import (
    copy,
    plan_copy,
    remote_line,
    replace_process,
    run_command,
)
from prime_cli.client.pods.ssh.identity import find_identity
from prime_cli.client.pods.ssh.routes import SshRoute
from prime_cli.commands.contract import RUNS_PROGRAM, WRITES
from prime_cli.commands.options import (
    CONTEXT,
    OFFLINE,
    QUIET,
    PodArg,
    common_options,
    hub_options,
    open_session,
)
from prime_cli.core.errors import NotFound, Offline, PrimeError, Unreachable
from prime_cli.core.formatting import parse_duration, pluralize
from prime_cli.core.options import Option
from prime_cli.session import Session
from prime_cli.wire.pods import Pod


@dataclass(frozen=True)
class Way:
    """How a pod is reached."""

    identity: Annotated[
        str | None,
        Option("The private key to use.", names=("--identity", "-i"), metavar="FILE"),
    ] = None
    node: Annotated[int, Option("The node's number, from 0.", metavar="N", least=0)] = 0
    timeout: Annotated[
        str | None, Option("Maximum time to wait.", metavar="TIME", show_default="10m")
    ] = None


def _find_route(session: Session, word: str, way: Way, *, wait: bool = True) -> SshRoute:
    """The way to the pod that `word` means, once it lets us in; unless `wait`, as it is now."""
    seconds = None if way.timeout is None else float(parse_duration(way.timeout))
    pod = _find_pod(session, word)
    config = session.config
    options = ConnectOptions(
        home=config.home.value,
        identity=find_identity(
            config.home.value, way.identity, config.ssh_key_path, session.progress
        ),
        node=way.node,
        timeout=seconds,
        can_type=session.output.is_interactive,
    )
    if not wait:
        return _route_now(session, pod, options)
    if config.offline:
        raise Offline(f"`{word}` needs a connection, which `--offline` forbids")
    route = connect(session.hub, pod, options, session.progress)
    # `prime gc` learns from the aliases which hub to ask whether a pod is still there.
    keep_alias(SshFiles(config.home.value), session.hub.base_url, route)
    return route


@contextmanager
def _detecting_the_end(session: Session, route: SshRoute) -> Iterator[None]:
    """Tell a connection that broke because its pod ended meanwhile as that, as at a deadline."""
    try:
        yield
    except Unreachable as error:
        if not _has_ended(session, route):
            raise
        raise Unreachable(
            f"`{route.name}` has been terminated in the meantime",
            hint="`prime pods history` shows when",
        ) from error


def _has_ended(session: Session, route: SshRoute) -> bool:
    try:
        return isinstance(find_present_or_past(session.hub, route.pod_id), HistoryMatch)
    except PrimeError:  # nothing is known for certain then
        return False


def _route_now(session: Session, pod: Pod, options: ConnectOptions) -> SshRoute:
    route = find_route(session.hub, pod, options)
    if route is None:
        raise Unreachable(
            f"`{pod.title}` is {pod.shown_status} and has no address yet",
            hint="omit `--no-wait` to wait for it",
        )
    return route


def _find_pod(session: Session, word: str) -> Pod:
    found = find_present_or_past(session.hub, word)
    if isinstance(found, HistoryMatch):
        raise NotFound(
            f"`{found.pod.title}` has ended", hint="list terminated pods with `prime pods history`"
        )
    return found


class SshCommand(msgspec.Struct, frozen=True):
    """The command that opens the session, and what it consists of."""

    argv: list[str]
    host: str
    port: int
    user: str
    identity: str
    known_hosts: str
    pod_id: str
    node: int | None


@hub_options(answer=SshCommand, effects=(WRITES, RUNS_PROGRAM))
def ssh(
    ctx: typer.Context,
    pod: PodArg,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- ARGUMENT...]", help="Passed to ssh after the host."),
    ] = None,
    *,
    way: Way,
    printed: Annotated[
        bool, typer.Option("--print", help="Print the ssh command instead of running it.")
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not test the connection first.")
    ] = False,
    no_config: Annotated[
        bool, typer.Option("--no-config", help="Leave ~/.ssh/config alone.")
    ] = False,
) -> None:
    """Open an SSH session on a pod.

    Waits until the pod accepts your key, pins its host keys, and adds `prime-NAME` to your SSH
    configuration, for ssh, editors and rsync. `--print` and JSON only print the command and do not
    change ~/.ssh.

    \b
    Example:
      prime pods ssh my-pod
      prime pods ssh my-pod -- -L 8888:localhost:8888
      eval "$(prime pods ssh my-pod --print) nvidia-smi"
    \b
    See also: `prime pods exec`, `prime pods cp`, `prime pods status`.
    """
    session = open_session(ctx)
    route = _find_route(session, pod, way, wait=not no_wait)
    argv = [*route.ssh(), *(arguments or [])]
    if printed or session.output.is_json:
        _print(session, route, argv)
        return
    if session.config.offline:
        raise Offline("`--offline` opens no connection", hint="print the command with `--print`")
    if not no_config:
        _keep(session, route, tells=not arguments)
    session.close()
    replace_process(argv)


def _print(session: Session, route: SshRoute, argv: list[str]) -> None:
    record = SshCommand(
        argv=argv,
        host=route.address.host,
        port=route.address.port,
        user=route.address.user,
        identity=str(route.identity.file),
        known_hosts=str(route.known_hosts),
        pod_id=route.pod_id,
        node=route.node,
    )
    session.output.text(shlex.join(argv), record=record)


def _keep(session: Session, route: SshRoute, *, tells: bool) -> None:
    files = SshFiles(session.config.home.value)
    alias = keep_alias(files, session.hub.base_url, route)
    if include_aliases(files, session.progress) and tells:
        session.output.say(f"You can also use `{plain_command(alias)}`")


@common_options(QUIET, CONTEXT, OFFLINE, effects=(WRITES, RUNS_PROGRAM))
def exec_(
    ctx: typer.Context,
    pod: PodArg,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")
    ],
    *,
    tty: Annotated[bool, typer.Option("--tty", "-t", help="Allocate a terminal.")] = False,
    way: Way,
) -> None:
    """Run a command in a pod.

    Passes on stdin, stdout and the exit code; a broken connection exits with 5. No shell is
    involved: for `|` or the pod's `$HOME`, use `sh -c '…'`.

    \b
    Example:
      prime pods exec my-pod -- nvidia-smi
      prime pods exec my-pod -- sh -c 'ls $HOME | wc -l'
      tar c data | prime pods exec my-pod -- tar x
    \b
    See also: `prime pods ssh`, `prime pods cp`.
    """
    session = open_session(ctx)
    remote_line(command)
    route = _find_route(session, pod, way)
    with _detecting_the_end(session, route):
        ended = run_command(route, command, tty=tty)
    if ended.by_signal:
        session.output.warn("The command was terminated by a signal")
    raise typer.Exit(ended.code)


@common_options(QUIET, CONTEXT, OFFLINE, effects=(WRITES, RUNS_PROGRAM))
def cp(
    ctx: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[POD:]PATH... [POD:]PATH",
            help="Source and destination; one side is `POD:PATH`.",
        ),
    ],
    *,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Copy folders recursively.")
    ] = False,
    way: Way,
) -> None:
    """Copy files to or from a pod.

    Paths in a pod are relative to your home there. The pod expands `*`; quote it here. Write a
    local file with a colon in its name as `./a:b`.

    \b
    Example:
      prime pods cp train.py my-pod:
      prime pods cp -r my-pod:results/run-1 .
    \b
    See also: `prime pods ssh`, `prime pods exec`.
    """
    session = open_session(ctx)
    plan = plan_copy(paths)
    route = _find_route(session, plan.pod, way)
    with _detecting_the_end(session, route):
        copy(route, plan, recursive=recursive, quiet=session.quiet)
    where = f"`{plan.pod}`" if plan.uploads else "here"
    session.output.done(f"Copied {pluralize(len(plan.sources), 'path')} to {where}")
