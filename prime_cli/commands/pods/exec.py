"""`prime pods exec`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import PodArg
from prime_cli.commands.pods.reaching import (
    IdentityOpt,
    NodeOpt,
    TimeoutOpt,
    find_way,
    noticing_the_end,
)
from prime_cli.pods.ssh.executing import execute, remote_line


def exec_(
    ctx: typer.Context,
    pod: PodArg,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its words.")
    ],
    tty: Annotated[bool, typer.Option("--tty", "-t", help="Give the command a terminal.")] = False,
    identity: IdentityOpt = None,
    node: NodeOpt = 0,
    timeout: TimeoutOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Run a command in a pod, word for word.

    Its stdin, stdout and exit code are those of this command; a connection that breaks ends with
    5. No shell reads the words: for `|` or `$HOME` of the pod, name one, as `sh -c '…'`.

    \b
    Example:
      prime pods exec my-pod -- nvidia-smi
      prime pods exec my-pod -- sh -c 'ls $HOME | wc -l'
      tar c data | prime pods exec my-pod -- tar x
    \b
    See also: `prime pods ssh`, `prime pods cp`.
    """
    session = open_session(ctx, quiet=quiet, context=context, offline=offline)
    remote_line(command)
    route = find_way(session, pod, identity=identity, node=node, timeout=timeout)
    with noticing_the_end(session, route):
        ended = execute(route, command, tty=tty)
    if ended.by_signal:
        session.output.warn("The command was ended by a signal")
    raise typer.Exit(ended.code)
