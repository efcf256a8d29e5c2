"""A run while it is going: what is owed is driven to its end, and the end is written down."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from prime_cli.core.errors import StorageFailed
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.earlier_sessions import EarlierSessions, SavedAnswers
from prime_cli.evals.execution.progress import announce_agents
from prime_cli.evals.execution.rollout_loop import RolloutLoop
from prime_cli.evals.execution.run_record import RunRecord, SessionOutcome
from prime_cli.evals.execution.setup import RunSetup
from prime_cli.evals.execution.worker_failures import RestartPolicy
from prime_cli.evals.planning.cost import partial_at_cap
from prime_cli.runs.journal import Journal
from prime_cli.runs.manifest import CAPPED, FAILED, FINISHED, INTERRUPTED
from prime_cli.runs.plan import resume_command
from prime_cli.runs.summary import Summary
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.protocol import Start


@dataclass
class SessionRunner:
    """One process that works on a run, from its first line to its last.

    `earlier` is what other sessions have left, `record` what is written beside the journal.
    """

    setup: RunSetup
    earlier: EarlierSessions
    record: RunRecord

    def __post_init__(self) -> None:
        before, finished = self.earlier.manifest, self.earlier.tally.finished
        self._was_whole = before is not None and 0 < finished == before.planned

    def execute(self, progress: Progress) -> tuple[Summary, int | None]:
        """Run what is owed, and write how it ended; the signal that ended it early, if one did."""
        self.record.open()
        restarts = self._restarts()
        work = self._work(restarts)
        with (
            self._saved(work, progress) as saved,
            Journal(self.setup.folder.journal, self.setup.scrub) as journal,
        ):
            drive = self._drive(journal, progress, restarts, work, saved)
            try:
                with progress.task(self._title(), unit="rollouts") as task:
                    asyncio.run(drive.run(task))
            except BaseException as failure:
                with suppress(StorageFailed):  # the first failure is the one to tell
                    self._fail(drive.outcome, failure)
                self._say_what_is_kept(progress)
                raise
        return self._close(drive.outcome), drive.outcome.signal

    def _close(self, outcome: SessionOutcome) -> Summary:
        if outcome.signal is not None:
            return self.record.close(outcome, INTERRUPTED)
        planned = outcome.start.planned if outcome.start else None
        if outcome.capped is None or self.earlier.tally.finished == planned:
            return self.record.close(outcome, FINISHED)
        stopped = partial_at_cap(outcome.capped, self.setup.run_id, self.setup.plan)
        return self.record.close(outcome, CAPPED, stopped)

    def _drive(
        self,
        journal: Journal,
        progress: Progress,
        restarts: RestartPolicy,
        work: WorkList,
        saved: SavedAnswers | None,
    ) -> RolloutLoop:
        def begin(start: Start) -> None:
            self.record.begin(start)
            announce_agents(start.agents, progress, sandbox=self.setup.plan.sandbox)

        return RolloutLoop(
            self.setup,
            journal,
            self.earlier.tally,
            progress,
            begin,
            restarts,
            work,
            self.record.withheld(progress),
            saved,
        )

    def _restarts(self) -> RestartPolicy:
        before, plan, origin = self.earlier.manifest, self.setup.plan, self.setup.prepared.origin
        return RestartPolicy(
            self.earlier.tally,
            rollouts=plan.rollouts_per_example,
            concurrency=plan.concurrency,
            unit=before.unit if before else None,
            left_out=origin.left_out | origin.kept if origin is not None else (),
            retry_errors=self.setup.prepared.retry_errors,
        )

    def _work(self, restarts: RestartPolicy) -> WorkList:
        before, origin = self.earlier.manifest, self.setup.prepared.origin
        fingerprint = before.fingerprint if before else None
        prefix = (before.examples or 0) if before else 0
        if before is None and origin is not None and origin.fingerprint is not None:
            prefix, fingerprint = origin.examples, origin.fingerprint
        return restarts.first(prefix=prefix, fingerprint=fingerprint)

    @contextmanager
    def _saved(self, work: WorkList, progress: Progress) -> Iterator[SavedAnswers | None]:
        """The answers that are scored again, where the worker finds them as long as this is open.

        Read before the journal is written to.
        """
        if not work.to_score:
            yield None
            return
        saved = SavedAnswers(self.setup.folder, work.to_score)
        count = len(work.to_score)
        noun = "answer that was" if count == 1 else "answers that were"
        progress.say(f"{count} {noun} saved will be scored again; the model is not called for them")
        saved.write()
        try:
            yield saved
        finally:
            saved.remove()

    def _fail(self, outcome: SessionOutcome, failure: BaseException) -> None:
        if self.earlier.manifest is not None and outcome.start is None:
            self.record.withdraw()
        else:
            # A run that had all its rows has lost none to an endpoint that is down today.
            whole = self._was_whole and failure is outcome.fatal
            self.record.close(outcome, FINISHED if whole else FAILED, failure)

    def _say_what_is_kept(self, progress: Progress) -> None:
        finished = self.earlier.tally.finished
        if finished:
            command = resume_command(self.setup.run_id, self.setup.plan)
            progress.say(f"{finished} finished rollouts are kept; resume with `{command}`")

    def _title(self) -> str:
        return f"{self.setup.plan.environment.name} with {self.setup.plan.model}"
