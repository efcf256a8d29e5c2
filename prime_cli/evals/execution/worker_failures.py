"""Workers that fail: what an error means to the user, and how a dead worker is replaced.

A worker that dies is restarted for what it had not finished. Rollouts that were in flight at two
deaths run at the end, one at a time: a rollout that runs alone when its worker dies has killed it.
It becomes an error, and the rest of the run is unaffected.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path

from prime_cli.core.archive.imports import absent_import, missing_import_hint
from prime_cli.core.archive.left_out import file_left_out, module_beside
from prime_cli.core.errors import (
    Conflict,
    EnvironmentFailed,
    LoadFailed,
    PrimeError,
    UsageError,
    WorkerDied,
)
from prime_cli.core.formatting import shorten
from prime_cli.core.refs import normalize_name
from prime_cli.runs.plan import EvalPlan, Shard
from prime_cli.runs.rows import REQUESTED, SCORED, WORKER_DIED
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.tally import RolloutKey, Tally
from prime_cli.runs.work_list import GROUP, WorkList, next_attempts, owed_again, settled
from prime_cli.runtime.causes import cause_of, end_of_log, unreachable_host, unreachable_words
from prime_cli.runtime.protocol import EndError, Start, WorkerEnd

MOST_DEATHS = 5
"""Per session; one more fails the session, and a resume continues from there."""


class RestartPolicy:
    """Decides what the next worker runs; `tally` holds the finished rollouts.

    `blamed` are the rollouts of a unit that ran alone when its worker died. `left_out` are rollouts
    that no worker runs, as are those outside of `shard`. With `retry_errors` every rollout that
    failed in an earlier session is repeated, and those that were `asked` for are in any case.
    """

    def __init__(
        self,
        tally: Tally,
        *,
        rollouts: int,
        concurrency: int,
        unit: str | None = None,
        left_out: Collection[RolloutKey] = (),
        retry_errors: bool = False,
        shard: Shard | None = None,
        asked: Collection[RolloutKey] = (),
    ) -> None:
        self._shard = shard
        self._tally = tally
        self._left_out = frozenset(left_out)
        self._rollouts = rollouts
        self._unit = unit
        again = owed_again(tally, unit, rollouts, retry_errors=retry_errors)
        again |= {pair: REQUESTED for pair in asked if pair not in again}
        done = {last.pair for last in tally.attempts()} - again.keys()
        attempts = next_attempts(tally, again)
        self._work = WorkList(concurrency, sorted(done | self._left_out), attempts, again)
        self._since = self._work.attempts
        self._deaths = 0
        self._suspects: set[RolloutKey] = set()
        self._aside: set[RolloutKey] = set()
        self._alone = False
        self._is_owing = False
        self.blamed: list[RolloutKey] = []

    def first(self, *, prefix: int = 0, fingerprint: str | None = None) -> WorkList:
        """The work of the first worker; the examples must be those of the earlier sessions."""
        self._work = replace(self._work, prefix=prefix, fingerprint=fingerprint)
        return self._work

    def attempt(self, pair: RolloutKey) -> int:
        """The number of this session's attempt at `pair`."""
        return self._since.get(pair, 1)

    def has(self, pair: RolloutKey) -> bool:
        """Whether this session need not run `pair`, or no longer."""
        last = self._tally.find(pair)
        return last is not None and last.number >= self.attempt(pair)

    def owe(self, pairs: Collection[RolloutKey]) -> WorkList:
        """Run `pairs`, which have ended, again: the work, in the attempt after the last of them."""
        lasts = [last.number for pair in pairs if (last := self._tally.find(pair))]
        self._since.update(dict.fromkeys(pairs, max(lasts) + 1))
        again = {**self._work.again, **dict.fromkeys(pairs, REQUESTED)}
        done = [pair for pair in self._work.done if pair not in pairs]
        self._work = replace(self._work, again=again, done=done)
        self._is_owing = True
        return self._work

    @property
    def concurrency(self) -> int:
        """How many rollouts the next worker runs at a time."""
        return 1 if self._alone else self._work.concurrency

    def limit(self, concurrency: int) -> bool:
        """Run so many at a time from now on; False where one runs alone for now."""
        self._work = replace(self._work, concurrency=concurrency)
        return not self._alone

    def after_end(self, start: Start) -> WorkList | None:
        """The work after a worker that ended well; None if everything has run."""
        self.blamed = []
        if self._is_owing and self.next_units(start, 1):
            # The worker ended before it heard of them.
            self._is_owing = False
            return self._continue(start)
        if self._alone or not self._aside:
            return None
        self._alone = True
        return self._continue(start)

    def after_death(self, start: Start | None, death: WorkerDied) -> WorkList | None:
        """The work after `death`; None if nothing is left. Raises `death` after too many."""
        self._deaths += 1
        if start is None or self._deaths > MOST_DEATHS:
            raise death
        # Units are taken in their order, so that those in flight are the first that lack a row.
        in_flight = {pair for unit in self.next_units(start, start.concurrency) for pair in unit}
        if self._alone:
            self.blamed = sorted(in_flight)
            self._aside -= in_flight
        else:
            self._aside |= in_flight & self._suspects
            self._suspects = in_flight - self._aside
        self._note_asked(in_flight)
        if not self._alone and not self.next_units(start, 1):
            return self.after_end(start)
        return self._continue(start) if self.next_units(start, 1) else None

    def _note_asked(self, in_flight: set[RolloutKey]) -> None:
        """Note that the model may have answered rollouts in flight, whose answers are lost."""
        again = dict(self._work.again)
        again.update({p: WORKER_DIED for p in in_flight if again.get(p) != SCORED})
        self._work = replace(self._work, again=again)

    def _continue(self, start: Start) -> WorkList:
        kept = set(settled(self._tally, self._unit, self._rollouts, self._since))
        kept |= self._left_out
        kept |= set(self._all(start)) - self._aside if self._alone else self._aside
        self._work = replace(
            self._work,
            done=sorted(kept),
            concurrency=1 if self._alone else self._work.concurrency,
            prefix=start.examples,
            fingerprint=start.fingerprint,
        )
        return self._work

    def next_units(self, start: Start, count: int) -> list[list[RolloutKey]]:
        """The first `count` unfinished units of this worker, at least one, in order."""
        self._unit = start.unit
        return list(islice(self._unfinished(start), max(1, count)))

    def _unfinished(self, start: Start) -> Iterator[list[RolloutKey]]:
        """The unfinished units of this worker, in its order."""
        kept = set(settled(self._tally, self._unit, self._rollouts, self._since))
        aside, alone = self._aside, self._alone
        owed = (pair for pair in self._all(start) if pair not in kept and (pair in aside) == alone)
        if self._unit != GROUP:
            yield from ([pair] for pair in owed)
            return
        for example, _ in groupby(owed, key=lambda pair: pair[0]):
            yield [(example, r) for r in range(self._rollouts)]

    def _all(self, start: Start) -> Iterator[RolloutKey]:
        counted = range(start.examples)
        numbers: Sequence[int] = counted if start.numbers is None else start.numbers
        if self._shard is not None:
            numbers = self._shard.of(numbers)
        # `prime env check` runs only the first of them.
        numbers = numbers[: start.planned // self._rollouts]
        pairs = ((example, r) for example in numbers for r in range(self._rollouts))
        return (pair for pair in pairs if pair not in self._left_out)


_LINES = 20
_LONGEST_CAUSE = 500
_NO_SPLIT = re.compile(r"no data for the split `(train|eval)`")
_NEEDED = re.compile(r"needs ((?:`\w+`(?:, )?)+)")
_NETWORK_HINT = (
    "the sandbox has no network: if it downloads data, run it once with `--allow-net`; "
    "the data is kept for later runs"
)
_GATEWAY_HINT = (
    "`--only-gateway` leaves it no network: if it downloads data, run it once without "
    "the flag, for example with `-m builtin/oracle -n 1`"
)
_HARNESS_HINT = (
    "uv downloads its packages once: run it once with a network, or choose another harness, "
    'as in `-x \'{"agent": {"harness": {"id": "null"}}}\'`'
)
_OWN_MODULE_HINT = "correct the import, or include the module in the wheel, in pyproject.toml"
_INPUT_HINT = "give it what it asks for with `--env-var` or `-a`, or answer it with `--debug`"
_INPUT = "it asks for input"
"""How the worker says so."""
_DATA_HINT = "if the environment shuffles without a seed, set one with `-a` and start a new run"
_DOING = {
    "import": "be imported",
    "load": "be loaded",
}


def failure_of(
    end: WorkerEnd,
    plan: EvalPlan,
    scrub: Scrubber,
    *,
    again: bool = False,
    asked: str | None = None,
    log: Path | None = None,
    whole: bool = False,
) -> PrimeError | None:
    """The error of `end`; None for a good or requested end.

    `again` says that the run makes another one again, `asked` how to allow the variables that the
    environment asked for, `log` is what it printed. `detail` is the end of the traceback, or the
    `whole`.
    """
    if end.ok or end.stage == "interrupted":
        return None
    error = end.error or EndError(type="Error", message="no reason was given")
    first = scrub.text(error.message).strip().split("\n", maxsplit=1)[0]
    cause = shorten(f"{error.type}: {first}" if first else error.type, _LONGEST_CAUSE)
    name = plan.environment.name
    text = scrub.text(error.traceback or "")
    detail = text if whole else last_lines(text)
    if end.stage in ("arguments", "examples"):
        return _bad_flags(end.stage, name, first)
    if end.stage == "harness":
        return LoadFailed(
            f"A harness of `{name}` cannot be started: {first}",
            hint=_HARNESS_HINT,
            detail=detail,
        )
    if end.stage in _DOING:
        begins = f"`{name}` cannot {_DOING[end.stage]}"
        return _load_failure(begins, cause, text, plan, asked=asked, log=log, whole=whole)
    if end.stage == "data":
        earlier = "that the run had" if again else "that this run started with"
        return Conflict(
            f"The dataset is not the one {earlier}: {first}",
            hint="`--force` uses the current data" if again else _DATA_HINT,
        )
    return EnvironmentFailed(f"`{name}` stopped the run: {cause}", hint=asked, detail=detail)


def _load_failure(
    begins: str,
    raised: str,
    trace: str,
    plan: EvalPlan,
    *,
    asked: str | None,
    log: Path | None,
    whole: bool,
) -> LoadFailed:
    """An environment that does not import or load, by what is at the bottom of it."""
    first = cause_of(trace)
    cause = f"{raised}, because of {first}" if first else raised
    detail = trace if whole else last_lines(trace)
    absent, name = absent_import(first or raised), plan.environment.name
    folder = Path(plan.environment.path) if plan.environment.path else None
    left = None
    if folder is not None and folder.is_dir():
        left = module_beside(folder, absent) if absent else file_left_out(folder, first or raised)
    if left is not None:
        return LoadFailed(f"{begins}: {left.sentence}", hint=left.hint, detail=detail)
    if absent is not None:
        is_own = normalize_name(absent) == normalize_name(name)
        advice = _OWN_MODULE_HINT if is_own else missing_import_hint(absent)
        return LoadFailed(
            f"{begins}: {cause}", hint=advice, detail=detail if is_own or whole else None
        )
    host = unreachable_host(f"{raised}\n{trace}")
    told = unreachable_host(end_of_log(log)) if log is not None and host is None else None
    hint = asked or _load_hint(raised, plan)
    if found := host or told:
        words, step = unreachable_words(found)
        cause = words if host else f"{cause} (its log says that {words})"
        hint = hint or step
    return LoadFailed(f"{begins}: {cause}", hint=hint, detail=detail)


def _bad_flags(stage: str, name: str, first: str) -> PrimeError:
    if stage == "examples":
        return UsageError(f"`{name}` {first}", hint="number them from 0: `--examples 3,7,10-20`")
    if absent := _NO_SPLIT.search(first):
        other = "eval" if absent[1] == "train" else "train"
        return UsageError(f"`{name}`: {first}", hint=f"use the other one: `--split {other}`")
    return LoadFailed(f"`{name}` cannot be loaded: {first}", hint=_arguments_hint(first))


def _load_hint(message: str, plan: EvalPlan) -> str | None:
    if _INPUT in message:
        return _INPUT_HINT
    if plan.sandbox and not plan.allow_net:
        return _NETWORK_HINT
    return _GATEWAY_HINT if plan.only_gateway else None


def _arguments_hint(message: str) -> str | None:
    needed = _NEEDED.search(message)
    if needed is None:
        return None
    names = needed[1].replace("`", "").split(", ")
    example = ", ".join(f'"{name}": …' for name in names)
    return f"give them as JSON: `-a '{{{example}}}'`"


def last_lines(text: str) -> str | None:
    """The end of a traceback; None without one."""
    return "\n".join(text.strip().splitlines()[-_LINES:]) or None
