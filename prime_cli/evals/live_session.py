"""A run while it is going: what is owed is driven to its end, and the end is written down."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from prime_cli.core.errors import StorageFailed
from prime_cli.core.progress import Progress
from prime_cli.evals.caps import partial_at_cap
from prime_cli.evals.drive import Drive, Outcome
from prime_cli.evals.folder import RunFolder
from prime_cli.evals.journal import Journal
from prime_cli.evals.manifest import CAPPED, FAILED, FINISHED, INTERRUPTED
from prime_cli.evals.record import RunRecord
from prime_cli.evals.resuming.command import resume_command
from prime_cli.evals.resuming.earlier import Earlier
from prime_cli.evals.resuming.lives import Lives
from prime_cli.evals.setup import Setup
from prime_cli.evals.summary import Summary


@dataclass
class LiveSession:
    """One process that works on a run, from its first line to its last.

    `earlier` is what other sessions have left, `record` what is written beside the journal.
    """

    setup: Setup
    folder: RunFolder
    earlier: Earlier
    record: RunRecord

    def execute(self, progress: Progress) -> tuple[Summary, int | None]:
        """Run what is owed, and write how it ended; the signal that ended it early, if one did."""
        self.record.open()
        with Journal(self.folder.journal, self.setup.scrub) as journal:
            drive = self._drive(journal, progress)
            try:
                with progress.task(self._title(), unit="rollouts") as task:
                    asyncio.run(drive.run(task))
            except BaseException as failure:
                with suppress(StorageFailed):  # the first failure is the one to tell
                    self._fail(drive.outcome, failure)
                self._say_what_is_kept(progress)
                raise
        return self._close(drive.outcome), drive.outcome.signal

    def _close(self, outcome: Outcome) -> Summary:
        if outcome.signal is not None:
            return self.record.close(outcome, INTERRUPTED)
        planned = outcome.start.planned if outcome.start else None
        if outcome.capped is None or self.earlier.tally.finished == planned:
            return self.record.close(outcome, FINISHED)
        stopped = partial_at_cap(outcome.capped, self.setup.run_id, self.setup.plan)
        return self.record.close(outcome, CAPPED, stopped)

    def _drive(self, journal: Journal, progress: Progress) -> Drive:
        before, plan, origin = self.earlier.manifest, self.setup.plan, self.setup.origin
        lives = Lives(
            self.earlier.tally,
            rollouts=plan.rollouts_per_example,
            concurrency=plan.concurrency,
            unit=before.unit if before else None,
            left_out=origin.left_out | origin.kept if origin is not None else (),
        )
        fingerprint = before.fingerprint if before else None
        prefix = (before.examples or 0) if before else 0
        if before is None and origin is not None and origin.fingerprint is not None:
            prefix, fingerprint = origin.examples, origin.fingerprint
        orders = lives.first(prefix=prefix, fingerprint=fingerprint)
        return Drive(
            self.setup, journal, self.earlier.tally, progress, self.record.begin, lives, orders
        )

    def _fail(self, outcome: Outcome, failure: BaseException) -> None:
        if self.earlier.manifest is not None and outcome.start is None:
            self.record.withdraw()
        else:
            self.record.close(outcome, FAILED, failure)

    def _say_what_is_kept(self, progress: Progress) -> None:
        finished = self.earlier.tally.finished
        if finished:
            command = resume_command(self.setup.run_id, self.setup.plan)
            progress.say(f"What was finished, {finished} rollouts, is kept: go on with `{command}`")

    def _title(self) -> str:
        return f"{self.setup.plan.environment.name} with {self.setup.plan.model}"
