"""`prime eval ctl …`: control a running evaluation or training from another terminal."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import ExitCode, NotFound, PrimeError, UsageError
from prime_cli.core.formatting import format_duration, format_usd, join_words
from prime_cli.evals.control.client import RunControl, control_of
from prime_cli.evals.control.messages import RunState, named_rollout
from prime_cli.runs.saved_run import SavedRun

_HERE = "prime_cli.commands.eval.ctl"

app = group(
    "Control a running evaluation or training.",
    {
        "status": (f"{_HERE}:status", "Show the state of a running evaluation or training."),
        "pause": (f"{_HERE}:pause", "Hold model calls, and start no rollout."),
        "resume": (f"{_HERE}:resume", "Go on after a pause."),
        "set": (f"{_HERE}:set_limits", "Change concurrency or the cap of a run."),
        "drain": (f"{_HERE}:drain", "Finish what runs, and start nothing more."),
        "cancel": (f"{_HERE}:cancel", "Cancel a rollout, without a score or an error."),
        "retry": (f"{_HERE}:retry", "Run a failed or cancelled rollout again."),
    },
)

_EXITS = (ExitCode.CONFLICT, ExitCode.NOT_ALLOWED, ExitCode.UNREACHABLE)

RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="The id or folder of a run, suite or training.",
        show_default="the newest that is running",
    ),
]
RolloutArgument = Annotated[
    str,
    typer.Argument(
        metavar="EXAMPLE[:ROLLOUT]", help="A rollout, or all of an example.", show_default=False
    ),
]


@local_options(answer=(RunState, list[RunState]), exits=_EXITS)
def status(ctx: typer.Context, run: RunArgument = None) -> None:
    """Show the state of a running evaluation or training.

    \b
    Example:
      prime eval ctl status
      prime eval ctl status 1f2e3d4c --output json
    \b
    See also: `prime eval list`, `prime eval show`.
    """
    _show(ctx, _each(ctx, run, RunControl.status))


@local_options(answer=(RunState, list[RunState]), effects=WRITES, exits=_EXITS)
def pause(ctx: typer.Context, run: RunArgument = None) -> None:
    """Hold model calls, and start no rollout.

    Calls in flight are answered. Time in the pause does not count for deadlines of rollouts.

    \b
    Example:
      prime eval ctl pause
    \b
    See also: `prime eval ctl resume`, `prime eval ctl drain`.
    """
    states = _each(ctx, run, RunControl.pause)
    _show(ctx, states)
    open_session(ctx).output.hint(
        "time in the pause does not count for deadlines; continue with "
        f"`prime eval ctl resume {states[0].run_id if len(states) == 1 else run}`"
    )


@local_options(answer=(RunState, list[RunState]), effects=WRITES, exits=_EXITS)
def resume(ctx: typer.Context, run: RunArgument = None) -> None:
    """Go on after a pause.

    \b
    Example:
      prime eval ctl resume 1f2e3d4c
    \b
    See also: `prime eval ctl pause`.
    """
    _show(ctx, _each(ctx, run, RunControl.resume))


@local_options(answer=(RunState, list[RunState]), effects=WRITES, exits=_EXITS)
def set_limits(
    ctx: typer.Context,
    run: RunArgument = None,
    max_concurrent: Annotated[
        int | None,
        typer.Option("--max-concurrent", "-c", help="Rollouts that run at a time."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="USD", help="What the run may cost in all."),
    ] = None,
) -> None:
    """Change concurrency or the cap of a run.

    \b
    Example:
      prime eval ctl set -c 8
      prime eval ctl set 1f2e3d4c --max-cost 5
    \b
    See also: `prime eval ctl status`.
    """
    states = _each(ctx, run, lambda control: control.set(max_concurrent, max_cost))
    _show(ctx, states)


@local_options(answer=(RunState, list[RunState]), effects=WRITES, exits=_EXITS)
def drain(ctx: typer.Context, run: RunArgument = None) -> None:
    """Finish what runs, and start nothing more.

    The run ends with exit code 3; `prime eval run --resume` continues it. A training finishes its
    step and its checkpoint; `prime train --resume` continues it.

    \b
    Example:
      prime eval ctl drain
    \b
    See also: `prime eval ctl pause`, `prime eval run`.
    """
    _show(ctx, _each(ctx, run, RunControl.drain))


@local_options(answer=RunState, effects=WRITES, exits=_EXITS)
def cancel(ctx: typer.Context, rollout: RolloutArgument, run: RunArgument = None) -> None:
    """Cancel a rollout, without a score or an error.

    A resume does not run it again. Rollouts that are scored as a group are cancelled together.

    \b
    Example:
      prime eval ctl cancel 3:0
      prime eval ctl cancel 3 1f2e3d4c
    \b
    See also: `prime eval ctl retry`.
    """
    example, number = named_rollout(rollout)
    _show(ctx, [only_control(run).cancel(example, number)])


@local_options(answer=RunState, effects=WRITES, exits=_EXITS)
def retry(ctx: typer.Context, rollout: RolloutArgument, run: RunArgument = None) -> None:
    """Run a failed or cancelled rollout again.

    \b
    Example:
      prime eval ctl retry 3:0
    \b
    See also: `prime eval ctl cancel`, `prime eval run`.
    """
    example, number = named_rollout(rollout)
    _show(ctx, [only_control(run).retry(example, number)])


def _controls(run: str | None) -> list[RunControl]:
    """That of a run, or those of what a suite is running."""
    try:
        return [control_of(run, Path.cwd())]
    except NotFound:
        members = () if run is None else _members(run)
        if not members:
            raise
        return [RunControl(member) for member in members]


def _members(suite: str) -> Sequence[SavedRun]:
    """What is running of a suite; none if there is no such suite."""
    from prime_cli.evals.suites.record import running_members

    with suppress(NotFound):
        return running_members(suite, Path.cwd())
    return ()


def only_control(run: str | None) -> RunControl:
    """One of them: a suite has rollouts of the same number in each evaluation."""
    controls = _controls(run)
    if len(controls) > 1:
        ids = join_words([control.run_id for control in controls], len(controls))
        raise UsageError(f"Suite {run} is running {ids}", hint="name the run of the rollout")
    return controls[0]


def _each(
    ctx: typer.Context, run: str | None, do: Callable[[RunControl], RunState]
) -> list[RunState]:
    """Do it to all of them; raises the first refusal if none has done it, and warns of others."""
    states, refusals = [], []
    for control in _controls(run):
        try:
            states.append(do(control))
        except PrimeError as error:
            refusals.append(error)
    if not states:
        raise refusals[0]
    for refusal in refusals:
        open_session(ctx).output.warn(refusal.message, hint=refusal.hint)
    return states


def _show(ctx: typer.Context, states: Sequence[RunState]) -> None:
    output = open_session(ctx).output
    listed = [_lines(state) for state in states]
    if len(states) == 1:
        output.show(states[0], lines=listed[0])
        return
    columns = [name for name, _ in listed[0]]
    rows = [[text for _, text in lines] for lines in listed]
    output.table(columns, rows, records=states)


def _lines(state: RunState) -> list[tuple[str, str]]:
    total = "" if state.total is None else f" of {state.total:,}"
    counts = f"{state.ended:,}{total} ended, {state.running:,} running"
    others = f"{state.errors:,} errors, {state.cancelled:,} cancelled"
    cap = "" if state.max_cost is None else f" of {format_usd(state.max_cost)}"
    spent = "unknown" if state.spent is None else format_usd(state.spent)
    left = "unknown" if state.eta is None else format_duration(round(state.eta))
    steps = [] if state.steps is None else [("Steps", f"{state.step} of {state.steps}")]
    return [
        ("Run", state.run_id),
        ("State", state.state),
        *steps,
        ("Rollouts", f"{counts}, {others}"),
        ("At a time", str(state.concurrency)),
        ("Spent", spent + cap),
        ("Left", left),
    ]
