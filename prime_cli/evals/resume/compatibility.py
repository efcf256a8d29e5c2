"""What a resume must not change, and the errors if it would."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.evals.planning.request import OPTIONS, request_flags
from prime_cli.runs.manifest import InterpreterFacts, RunManifest
from prime_cli.runs.plan import ALL, EvalPlan

MAY_CHANGE = frozenset(
    flag.plan for _, _, flag in request_flags() if not flag.fixed and flag.plan != OPTIONS
)
"""Fields of a plan that decide the pace and size of a run, not its scores."""

_COMPARED_OTHERWISE = frozenset(
    {"environment", "num_examples", "rollouts_per_example", "headers", OPTIONS}
)

UNSET = "unset"


class ResumeChange(NamedTuple):
    """One value that a resume would change, in words."""

    name: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.name}: was {self.was}, now {self.now}"


def require_same(before: RunManifest, plan: EvalPlan) -> None:
    """Raise Conflict if `plan` would give other scores than the run to resume."""
    require_headers(before.plan, plan)
    content = content_differences(before.plan, plan)
    found = [*content, *differences(before, plan)]
    if found:
        hint = "omit those flags, or start a new run without `--resume`"
        if len(content) == len(found):
            hint = _content_hint(before.plan)
        raise _refused(before.run_id, found, hint)


def require_same_packages(before: RunManifest, facts: InterpreterFacts) -> None:
    """Raise Conflict if the environment would run with other packages than before."""
    if before.interpreter is None:
        return
    found = list(package_differences(before.interpreter, facts))
    if found:
        raise _refused(before.run_id, found, "start a new run without `--resume`")


def require_same_harness(before: RunManifest, harness: str | None) -> None:
    """Raise Conflict if the harness or runtime of a v1 environment's agents would change."""
    # Up to 1.0 of prime the loop in the worker was given no other name.
    was = "null, in-process" if before.harness == "in-process" else before.harness
    if was is not None and was != harness:
        found = list(_values("harness", was, harness))
        raise _refused(before.run_id, found, "start a new run without `--resume`")


def differences(before: RunManifest, plan: EvalPlan) -> list[ResumeChange]:
    """The differences except in the environment's content; a run may only grow."""
    found: list[ResumeChange] = []
    for name in plan.__struct_fields__:
        if name in MAY_CHANGE or name in _COMPARED_OTHERWISE:
            continue
        found += _values(name, getattr(before.plan, name), getattr(plan, name))
    extras = (each.environment.extras or () for each in (before.plan, plan))
    found += _values("extras", *extras)
    for name, default, flag in request_flags():
        if flag.plan == OPTIONS and flag.fixed:
            found += _values(name, before.plan.option(name, default), plan.option(name, default))
    was, now = _size(before.plan.num_examples, before.examples), _size(plan.num_examples, None)
    if now < was:
        found.append(ResumeChange("num_examples", _shown_size(was), _shown_size(now)))
    if plan.rollouts_per_example < before.plan.rollouts_per_example:
        sizes = str(before.plan.rollouts_per_example), str(plan.rollouts_per_example)
        found.append(ResumeChange("rollouts_per_example", *sizes))
    return found


def content_differences(was: EvalPlan, now: EvalPlan) -> list[ResumeChange]:
    """The difference of the environments' wheels."""
    before, after = was.environment, now.environment
    if before.sha256 == after.sha256:
        return []
    found = [ResumeChange("environment", before.title, after.title)]
    if before.title == after.title:
        found = []
    return [*found, ResumeChange("sha256", before.sha256[:12], after.sha256[:12])]


def _values(name: str, was: Any, now: Any) -> Iterator[ResumeChange]:
    if was == now:
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            if was.get(key, _NOTHING) != now.get(key, _NOTHING):
                named = f"{name}.{key}"
                yield ResumeChange(
                    named, _shown(was.get(key, _NOTHING)), _shown(now.get(key, _NOTHING))
                )
        return
    yield ResumeChange(name, _shown(was), _shown(now))


_NOTHING = object()


def _shown(value: Any) -> str:
    if value is _NOTHING or value in (None, ()):
        return UNSET
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _size(count: int, known: int | None) -> float:
    """The number of examples; infinite for all of an unknown number."""
    if count == ALL:
        return float("inf") if known is None else known
    return count if known is None else min(count, known)


def _shown_size(count: float) -> str:
    return "all" if count == float("inf") else str(int(count))


def package_differences(was: InterpreterFacts, now: InterpreterFacts) -> Iterator[ResumeChange]:
    """The differences of the installed packages."""
    yield from _values("python", _minor(was.python), _minor(now.python))
    yield from _values("verifiers", was.verifiers, now.verifiers)
    yield from _values("generation", was.generation, now.generation)
    if was.lock_digest and now.lock_digest:
        packages = was.lock_digest[:12], now.lock_digest[:12]
    else:
        packages = (was.digest or "")[:12], (now.digest or "")[:12]
    yield from _values("packages", *packages)


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])


def require_headers(was: EvalPlan, now: EvalPlan) -> None:
    """Raise UsageError if a header that the run sent is not set: its value was not saved."""
    missing = [name for name in was.headers if name not in now.headers]
    if missing:
        raise UsageError(
            f"The run sent {', '.join(missing)}, whose value was not saved",
            hint=f"pass it again: `--header '{missing[0]}: …'`",
        )


def _content_hint(plan: EvalPlan) -> str:
    place = plan.environment.path
    if place is None:
        return f"use that version: `{plan.environment.title}`"
    return f"restore {place} to what it was, or start a new run"


def _refused(run_id: str, found: list[ResumeChange], hint: str) -> Conflict:
    return Conflict(
        f"Run {run_id} cannot be resumed: its scores could change",
        detail="\n".join(map(str, found)),
        hint=hint,
    )
