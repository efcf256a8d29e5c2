"""One session of a run: a process that works on it until it ends or is stopped."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prime_cli.core.errors import EnvironmentFailed, PartialResult
from prime_cli.core.formatting import pluralize
from prime_cli.evals.execution.earlier_sessions import (
    EarlierSessions,
    SavedAnswers,
    read_earlier_sessions,
)
from prime_cli.evals.execution.progress_line import announce_agents
from prime_cli.evals.execution.run_record import RunRecord, SessionOutcome, facts_of
from prime_cli.evals.execution.session_setup import RunSetup
from prime_cli.evals.execution.worker_failures import RestartPolicy
from prime_cli.evals.planning.cost import partial_at_cap, require_room
from prime_cli.evals.resume.compatibility import require_same, require_same_packages
from prime_cli.runs.folder import Journal
from prime_cli.runs.manifest import CAPPED, FAILED, FINISHED, INTERRUPTED
from prime_cli.runs.plan import resume_command
from prime_cli.runs.spending import sum_of
from prime_cli.runs.summary import Summary
from prime_cli.runs.work_list import WorkList, retried
from prime_cli.runtime.protocol import Start


class EvalSession:
    """A session of the run of `setup`, whose folder this process has locked.

    `earlier` has the results of earlier sessions, `record` the files beside the journal, `work`
    what the first worker is to do and `restarts` what the next ones are; `journal` and `saved` (the
    answers that are scored again) are there while it is `open`. Raises Conflict if the scores of
    a resumed run could change, PartialResult if its budget is used up, StorageFailed.
    """

    def __init__(self, setup: RunSetup) -> None:
        self.setup = setup
        # Read by who holds the lock alone: another process may have finished the run meanwhile.
        self.earlier = read_earlier_sessions(setup.folder) if setup.resumes else EarlierSessions()
        before = self.earlier.manifest
        if before is not None:
            require_same(before, setup.plan)
            require_same_packages(before, facts_of(setup.interpreter))
        self.tally, self.progress = self.earlier.tally, setup.context.progress
        budget = setup.gateway.budget
        if budget is not None and setup.context.budget is None:
            spent = sum_of(self.earlier.spent.values())
            require_room(budget, spent, setup.run_id, setup.plan, self.progress)
        self.record = RunRecord(setup, self.earlier)
        self.outcome = SessionOutcome()
        self.journal: Journal
        self.saved: SavedAnswers | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Write that the session runs, and what its workers read; raises StorageFailed."""
        self._was_whole = self.earlier.manifest is not None and (
            0 < self.tally.finished == self.earlier.manifest.planned
        )
        self.record.open()
        self.restarts = self._make_restarts()
        self.work = self._first_work()
        self.withheld = self.record.withheld(self.progress)
        with self._saved(), Journal(self.setup.folder.journal, self.setup.scrub) as self.journal:
            yield

    def begin(self, start: Start) -> None:
        """Record and report what the loaded environment states; raises Conflict."""
        plan, progress = self.setup.plan, self.progress
        self.record.begin(start)
        for sentence in start.said:
            progress.say(sentence)
        if 0 < start.examples < plan.num_examples:
            there = pluralize(start.examples, "example")
            progress.warn(f"It has only {there}, not {plan.num_examples:,}")
        if not start.planned and plan.shard is not None:
            examples = pluralize(start.examples, "example")
            progress.say(f"This part is empty: there are {examples}")
        announce_agents(start.agents, progress, sandbox=plan.sandbox)
        self._say_how_long(start)

    def close(self) -> Summary:
        """Write the results and how the session ended."""
        outcome = self.outcome
        if outcome.signal is not None:
            return self.record.close(outcome, INTERRUPTED)
        planned = outcome.start.planned if outcome.start else None
        is_owed = bool(retried(self.tally, self.record.changes))
        is_whole = self.tally.finished == planned and not is_owed
        if outcome.drained is not None and not is_whole:
            command = resume_command(self.setup.run_id, self.setup.plan)
            stopped = PartialResult(outcome.drained, hint=f"continue with `{command}`")
            return self.record.close(outcome, INTERRUPTED, stopped)
        if outcome.capped is None or is_whole:
            return self.record.close(outcome, FINISHED)
        stopped = partial_at_cap(outcome.capped, self.setup.run_id, self.record.plan)
        return self.record.close(outcome, CAPPED, stopped)

    def fail(self, failure: BaseException) -> None:
        """The same for a session that failed."""
        if self.earlier.manifest is not None and self.outcome.start is None:
            self.record.withdraw()
        else:
            # A run that had all its rows has lost none to an endpoint that is down today.
            whole = self._was_whole and failure is self.outcome.fatal
            self.record.close(self.outcome, FINISHED if whole else FAILED, failure)

    def say_what_is_kept(self, failure: BaseException) -> None:
        """After a failure, say how to resume what is finished."""
        finished = self.tally.finished
        # What failed in the environment each time would fail in a resumed run too.
        hopeless = type(failure) is EnvironmentFailed and self.tally.errored == finished
        is_resumed_by_hand = self.setup.context.observer is None and self.setup.saved is None
        if finished and not hopeless and is_resumed_by_hand:
            command = resume_command(self.setup.run_id, self.setup.plan)
            self.progress.say(f"{finished} finished rollouts are kept; resume with `{command}`")

    def _say_how_long(self, start: Start) -> None:
        """What the first run of an environment spent before its first rollout, by part."""
        parts = dict(self.setup.interpreter.seconds)
        if not parts:
            return
        whole = time.monotonic() - self.setup.context.began
        parts["importing"] += start.load_s
        finding = max(0.0, whole - sum(parts.values()))
        listed = ", ".join(f"{name} {spent:.1f} s" for name, spent in parts.items())
        self.progress.say(f"First rollout after {whole:.1f} s: finding {finding:.1f} s, {listed}")

    def _make_restarts(self) -> RestartPolicy:
        before, plan, origin = self.earlier.manifest, self.setup.plan, self.setup.prepared.origin
        return RestartPolicy(
            self.tally,
            rollouts=plan.rollouts_per_example,
            concurrency=plan.concurrency,
            unit=before.unit if before else None,
            left_out=origin.left_out | origin.kept if origin is not None else (),
            retry_errors=self.setup.prepared.retry_errors,
            shard=plan.shard,
            asked=() if before is None else retried(self.tally, before.changes),
        )

    def _first_work(self) -> WorkList:
        before, origin = self.earlier.manifest, self.setup.prepared.origin
        fingerprint = before.fingerprint if before else None
        prefix = (before.examples or 0) if before else 0
        if before is None and origin is not None and origin.fingerprint is not None:
            prefix, fingerprint = origin.examples, origin.fingerprint
        return self.restarts.first(prefix=prefix, fingerprint=fingerprint)

    @contextmanager
    def _saved(self) -> Iterator[None]:
        """While open, the saved answers are where the worker reads them.

        They are read before anything is journaled.
        """
        if not self.work.to_score:
            yield
            return
        saved = self.saved = SavedAnswers(self.setup.folder, self.work.to_score)
        count = len(self.work.to_score)
        noun = "answer that was" if count == 1 else "answers that were"
        self.progress.say(
            f"{count} {noun} saved will be scored again; the model is not called for them"
        )
        saved.write()
        try:
            yield
        finally:
            saved.remove()
