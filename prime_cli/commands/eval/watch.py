"""`prime eval watch`."""

import typer

from prime_cli.commands.eval.ctl import RunArgument, only_control
from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import ExitCode, InternalError, PartialResult, error_classes
from prime_cli.evals.control.client import follow
from prime_cli.evals.control.messages import RunState
from prime_cli.evals.planning.cost import check_cap
from prime_cli.runs.manifest import FAILED, STOPPED, RunManifest
from prime_cli.runs.plan import resume_command
from prime_cli.runs.saved_run import SavedRun, check_errors
from prime_cli.runs.summary import Summary
from prime_cli.session import Session


@local_options(answer=Summary, record=(RunState, Summary), exits=tuple(ExitCode))
def watch(ctx: typer.Context, run: RunArgument = None) -> None:
    """Watch a running evaluation until it ends.

    Shows what the terminal that started it shows, and exits as it does. Ctrl-C leaves the run as
    it is. `--output jsonl` prints a line for each change, and the summary.

    \b
    Example:
      prime eval watch
      prime eval watch 1f2e3d4c --output jsonl
    \b
    See also: `prime eval ctl status`, `prime eval show`.
    """
    session, control = open_session(ctx), only_control(run)
    output = session.output

    def hear(state: RunState) -> None:
        if output.mode == "jsonl":
            output.show(state)

    try:
        saved = follow(control, session.progress, hear)
    except KeyboardInterrupt:
        output.tell(f"Run {control.run_id} goes on")
        again = f"watch it again with `prime eval watch {control.run_id}`"
        output.hint(f"{again}, or end it with `prime eval ctl drain {control.run_id}`")
        raise
    _end(session, saved)


def _end(session: Session, saved: SavedRun) -> None:
    """Show the summary, and end as the command that ran it."""
    summary = saved.summary()
    lines = summary_lines(summary, brief=session.output.mode == "table")
    session.output.show(summary, lines=lines)
    if saved.manifest is None:
        return
    plan = saved.manifest.plan
    command = resume_command(summary.run_id, plan)
    if saved.manifest.sessions:
        exit_if_signalled(session, saved.manifest.sessions[-1].signal, command)
    _check_end(saved, saved.manifest, command)
    check_cap(summary, plan)
    check_errors(summary, plan)


def _check_end(saved: SavedRun, manifest: RunManifest, command: str) -> None:
    """Raise the error that the run failed with; PartialResult for one that was killed."""
    onward = f"continue with `{command}`"
    if saved.status == STOPPED:
        raise PartialResult(f"Run {manifest.run_id} was killed", hint=onward)
    if saved.status == FAILED:
        code = manifest.sessions[-1].code if manifest.sessions else None
        kind = error_classes().get(code or "", InternalError)
        raise kind(manifest.failure or f"Run {manifest.run_id} failed", hint=onward)
