"""`prime pods logs`."""

from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import PodArg
from prime_cli.commands.pods.watching import require_lines
from prime_cli.pods.logs import Piece, follow_log, read_log
from prime_cli.pods.past import Found, find_present_or_past
from prime_cli.session import Session


def logs(
    ctx: typer.Context,
    pod: PodArg,
    tail: Annotated[
        int, typer.Option("--tail", "-n", min=1, max=10_000, help="How many lines, the last ones.")
    ] = 1000,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until the pod ends.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Print what was said while a pod was made and ran.

    \b
    Example:
      prime pods logs my-pod --tail 20
      prime pods logs my-pod --follow
    \b
    See also: `prime pods status`, `prime eval logs`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if follow:
        require_lines(session.output, "--follow")
    hub = session.hub
    found = find_present_or_past(hub, pod)
    if not follow:
        piece = read_log(hub, found, tail)
        _print(session, piece)
        if not piece.logs:
            session.output.say(
                f"`{pod}` has ended, and no log of it was kept"
                if isinstance(found, Found)
                else "Nothing was said yet"
            )
        return
    for piece in follow_log(hub, found, tail):
        if piece.logs:
            _print(session, piece)
        if not session.output.is_read():
            return
    session.output.say(f"`{pod}` has ended")


def _print(session: Session, piece: Piece) -> None:
    session.output.text(piece.logs, record=piece)
