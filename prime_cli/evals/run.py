"""One evaluation from plan to summary: interpreter, worker, journal, results."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from prime_cli.core.errors import PrimeError, StorageFailed
from prime_cli.core.paths import write_atomically
from prime_cli.core.progress import Progress
from prime_cli.evals.declared import declared_keys
from prime_cli.evals.drive import Drive, Outcome
from prime_cli.evals.folder import RunFolder, new_run_folder, runs_folder, writing
from prime_cli.evals.interpreter import choose_interpreter
from prime_cli.evals.journal import Journal
from prime_cli.evals.manifest import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    InterpreterFacts,
    Manifest,
    save_manifest,
)
from prime_cli.evals.metadata import official_metadata
from prime_cli.evals.plan import EvalPlan
from prime_cli.evals.prepare import Prepared
from prime_cli.evals.results import write_results
from prime_cli.evals.sandboxing import sandbox_for
from prime_cli.evals.saved import summary_of
from prime_cli.evals.scrub import Scrubber
from prime_cli.evals.setup import Setup, Surroundings
from prime_cli.evals.spending import Spending, write_charges
from prime_cli.evals.summary import Summary
from prime_cli.evals.tally import Tally
from prime_cli.evals.worker import passed_keys, secrets_of
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.registry import Registry
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.locks import lock_digest
from prime_cli.runtime.protocol import Start
from prime_cli.runtime.sandbox import Sandbox


@dataclass(frozen=True)
class EvalResult:
    """A run that came to an end; `signal` is the number of the one that ended it early."""

    folder: RunFolder
    summary: Summary
    signal: int | None = None


def run_evaluation(prepared: Prepared, around: Surroundings) -> EvalResult:
    """Run what is prepared; a finished rollout is on disk before the next one is counted.

    Raises LoadFailed or EnvironmentFailed when the environment cannot be run or its process
    dies, ResolveFailed when no interpreter fits, StorageFailed. What was finished by then is
    kept, and its results are written.
    """
    plan, subject = prepared.plan, prepared.subject
    sandbox = sandbox_for(plan)
    declared = declared_keys(subject.package.path)
    passed = passed_keys(plan, declared, around.environ, around.progress)
    interpreter = choose_interpreter(plan, subject, around, sandbox)
    return run_in(
        interpreter,
        plan,
        prepared.endpoint,
        prepared.registry,
        around,
        passed=passed,
        sandbox=sandbox,
    )


def run_in(
    interpreter: Interpreter,
    plan: EvalPlan,
    endpoint: Endpoint,
    registry: Registry,
    around: Surroundings,
    *,
    passed: Mapping[str, str],
    sandbox: Sandbox | None = None,
) -> EvalResult:
    """The same in an interpreter that has the environment; `passed` are variables it may read."""
    folder = new_run_folder(runs_folder(plan.environment.name, plan.model, around.cwd))
    setup = Setup(
        run_id=folder.run_id,
        plan=plan,
        interpreter=interpreter,
        endpoint=endpoint,
        registry=registry,
        passed=passed,
        environ=around.environ,
        scrub=Scrubber(secrets_of(endpoint, around.environ, passed)),
        log=folder.log,
        gateway=GatewaySettings(),
        offline=around.offline,
        sandbox=sandbox,
    )
    with writing(folder):
        return _Run(setup, folder).execute(around.progress)


class _Run:
    """One run while it is going: its scores so far and its manifest."""

    def __init__(self, setup: Setup, folder: RunFolder) -> None:
        self._setup = setup
        self._folder = folder
        self._tally = Tally()
        self._manifest = Manifest(
            run_id=setup.run_id,
            plan=setup.plan,
            started=_now(),
            interpreter=_facts(setup.interpreter),
        )

    def execute(self, progress: Progress) -> EvalResult:
        began = time.monotonic()
        self._save()
        with Journal(self._folder.journal, self._setup.scrub) as journal:
            drive = Drive(self._setup, journal, self._tally, progress, self._started)
            try:
                with progress.task(self._title(), unit="rollouts") as task:
                    asyncio.run(drive.run(task))
            except BaseException as failure:
                with suppress(StorageFailed):  # the first failure is the one to tell
                    self._close(drive.outcome, FAILED, began, failure)
                self._say_what_is_kept(progress)
                raise
        status = FINISHED if drive.outcome.signal is None else INTERRUPTED
        summary = self._close(drive.outcome, status, began)
        return EvalResult(self._folder, summary, drive.outcome.signal)

    def _say_what_is_kept(self, progress: Progress) -> None:
        if self._tally.finished:
            count, path = self._tally.finished, self._folder.path
            progress.say(f"What was finished, {count} rollouts, is kept in {path}")

    def _title(self) -> str:
        return f"{self._setup.plan.environment.name} with {self._setup.plan.model}"

    def _started(self, start: Start) -> None:
        self._manifest = msgspec.structs.replace(
            self._manifest,
            examples=start.examples,
            planned=start.planned,
            fingerprint=start.fingerprint,
            unit=start.unit,
            harness=start.harness,
        )
        self._save()

    def _close(
        self, outcome: Outcome, status: str, began: float, failure: BaseException | None = None
    ) -> Summary:
        """Write results, metadata and the end of the manifest; the manifest comes last."""
        self._manifest = msgspec.structs.replace(
            self._manifest,
            status=status,
            ended=_now(),
            seconds=round(time.monotonic() - began, 3),
            usage=Spending(self._setup.plan.model, outcome.spent).record(),
            unjournaled=write_charges(outcome.unjournaled),
            failure=str(failure) if isinstance(failure, PrimeError) else None,
        )
        summary = summary_of(self._folder, self._manifest, self._tally)
        if self._tally.finished:
            write_results(self._folder.journal, self._folder.results)
            self._write_metadata(summary)
        self._manifest = msgspec.structs.replace(
            self._manifest, counts=summary.counts, reward=summary.reward
        )
        self._save()
        return summary

    def _write_metadata(self, summary: Summary) -> None:
        content = msgspec.json.encode(official_metadata(self._setup.plan, summary))
        content = self._setup.scrub(msgspec.json.format(content, indent=2))
        write_atomically(self._folder.metadata, content + b"\n", mode=0o644)

    def _save(self) -> None:
        save_manifest(self._folder.manifest, self._manifest, self._setup.scrub)


def _facts(interpreter: Interpreter) -> InterpreterFacts:
    return InterpreterFacts(
        python=interpreter.python_version,
        verifiers=interpreter.verifiers,
        generation=interpreter.generation,
        digest=interpreter.digest,
        found_by=interpreter.found_by,
        lock_digest=lock_digest(interpreter.lock) if interpreter.lock else None,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
