"""A run that goes on, steered from its page over the socket that `prime eval ctl` asks too."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.core.formatting import format_duration, format_usd
from prime_cli.evals.control.client import RunControl
from prime_cli.evals.control.messages import RunState, named_rollout
from prime_cli.pages.runs import Fact, Reins
from prime_cli.training.record import ENVIRONMENTS
from prime_cli.web.opened import LocalRun

T = TypeVar("T", int, float)
_PATIENCE = 1.0
"""Seconds that a page waits for the state of a run."""


def reins_of(run: LocalRun, form_token: str) -> Reins | None:
    """The reins of a run, or why there are none; None for one that has ended."""
    # The environments of a training are steered with it.
    if not run.is_live or run.path.parent.name == ENVIRONMENTS:
        return None
    try:
        state = RunControl(run.saved, _PATIENCE).status()
    except PrimeError as error:
        return Reins(problem=error.message)
    return Reins(
        state=state.state,
        facts=list(_facts(state)),
        concurrency=state.concurrency,
        has_cap=state.steps is None or state.max_cost is not None,
        form_token=form_token,
    )


def _facts(state: RunState) -> Iterator[Fact]:
    yield Fact("Running now", f"{state.running:,} of at most {state.concurrency:,}")
    if state.cancelled:
        yield Fact("Cancelled", f"{state.cancelled:,}")
    if state.spent is not None or state.max_cost is not None:
        cap = "" if state.max_cost is None else f" of {format_usd(state.max_cost)}"
        yield Fact("Spent so far", f"{format_usd(state.spent, 'unknown')}{cap}")
    if state.eta is not None:
        yield Fact("Left", format_duration(round(state.eta)))
    if state.note:
        yield Fact("Note", state.note)


def steer(run: LocalRun, form: Mapping[str, str]) -> None:
    """Do what a form asks; raises UsageError, and what RunControl raises."""
    control = RunControl(run.saved)
    match form.get("action"):
        case "pause":
            control.pause()
        case "resume":
            control.resume()
        case "drain":
            control.drain()
        case "set":
            control.set(_number(form, "concurrency", int), _number(form, "max_cost", float))
        case "cancel":
            control.cancel(*named_rollout(form.get("rollout", "").strip()))
        case other:
            raise UsageError(f"A run cannot {other}")


def _number(form: Mapping[str, str], name: str, kind: Callable[[str], T]) -> T | None:
    """The number in a field; None for an empty one."""
    text = form.get(name, "").strip()
    try:
        return kind(text) if text else None
    except ValueError as error:
        words = "number of rollouts" if kind is int else "number"
        raise UsageError(f"`{text[:50]}` is not a {words}") from error
