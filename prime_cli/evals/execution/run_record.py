"""The files of a run beside its journal, kept up to date by its one writer."""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from prime_cli.core.errors import PrimeError
from prime_cli.core.paths import write_atomically
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.earlier_sessions import EarlierSessions
from prime_cli.evals.execution.session_setup import RunSetup
from prime_cli.evals.resume.compatibility import require_same_harness
from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.prices import Charges, Spend, add_charges
from prime_cli.runs.access_requests import AccessedHosts, WithheldVariables
from prime_cli.runs.manifest import (
    MOST_WARNINGS,
    InterpreterFacts,
    RunManifest,
    RunSession,
    save_manifest,
)
from prime_cli.runs.plan import EvalPlan, RunChange
from prime_cli.runs.receipt import close_receipt, open_receipt, restore_receipt
from prime_cli.runs.saved_run import summary_of
from prime_cli.runs.spending import (
    Spending,
    read_charges,
    served_models,
    sum_of,
    write_charges,
)
from prime_cli.runs.summary import Summary
from prime_cli.runs.vf_eval_writer import official_metadata, write_results
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.locks import lock_digest
from prime_cli.runtime.protocol import (
    Start,
)
from prime_cli.wire.codec import encode


@dataclass
class SessionOutcome:
    """The end of a session, also after a failure.

    `spent` is everything that was used, `unjournaled` the part of it that is not in the journal: of
    abandoned rollouts, for example. `capped` names the cap that was reached, `drained` says who had
    it start nothing more, `fatal` why nothing else of the run can succeed.
    `warned` are the environment's warnings, in their order.
    """

    start: Start | None = None
    spent: Charges = field(default_factory=dict)
    unjournaled: Charges = field(default_factory=dict)
    signal: int | None = None
    served: Mapping[ServedBy, int] = field(default_factory=dict)
    capped: str | None = None
    drained: str | None = None
    fatal: PrimeError | None = None
    connections: AccessedHosts = field(default_factory=AccessedHosts)
    warned: dict[str, None] = field(default_factory=dict)


class RunRecord:
    """Writes the files of a run beside its journal; `earlier` is its state at the start."""

    def __init__(self, setup: RunSetup, earlier: EarlierSessions) -> None:
        self._setup = setup
        self._folder = setup.folder
        self._earlier = earlier
        self._began = time.monotonic()
        self._session = RunSession(started=_now(), host=socket.gethostname())
        prepared, before = setup.prepared, earlier.manifest
        origin = prepared.origin
        if before is None:
            before = RunManifest(
                run_id=setup.run_id,
                plan=setup.plan,
                started=self._session.started,
                interpreter=facts_of(setup.interpreter),
                rerun_of=origin.rerun_of if origin else None,
                rescored_of=origin.rescored_of if origin else None,
                asked_again=origin.asked_again if origin else None,
            )
        self._manifest = msgspec.structs.replace(
            before,
            plan=setup.plan,
            status=self._session.status,
            ended=None,
            failure=None,
            asked=prepared.asked or before.asked,
            labels=prepared.labels.over(before.labels),
            prices=setup.prices.record(),
            sessions=(*before.sessions, self._session),
        )
        self._withheld: WithheldVariables | None = None
        self._receipt: bytes | None = None

    def open(self) -> None:
        """Record that a session is running, its plan and its packages.

        Raises UsageError for a receipt that cannot be read, StorageFailed.
        """
        self._save()
        self._receipt = open_receipt(self._folder, at=self._session.started)
        lock = self._setup.interpreter.lock
        if lock is not None and not self._folder.packages.exists():
            write_atomically(self._folder.packages, encode(lock) + b"\n", mode=0o644)

    def withheld(self, progress: Progress) -> WithheldVariables:
        """Records the variables that this session's workers read but may not have."""
        self._withheld = WithheldVariables(
            self._setup.access.variables, progress, self._manifest.withheld
        )
        return self._withheld

    def begin(self, start: Start) -> None:
        """Record what the loaded environment states; raises Conflict."""
        if self._earlier.manifest is not None:
            require_same_harness(self._earlier.manifest, start.harness)
        self._manifest = msgspec.structs.replace(
            self._manifest,
            examples=start.examples,
            planned=start.planned,
            fingerprint=start.fingerprint,
            unit=start.unit,
            harness=start.harness,
            agents=tuple(start.agents),
            judges=tuple(start.judges),
        )
        self._save()

    def note_change(self, change: RunChange) -> None:
        """Record what somebody changes of the run; raises StorageFailed."""
        plan, before = self._manifest.plan, self._manifest
        cap = plan.max_cost
        if change.max_cost is not None:
            # A plan has the cap of all parts together; a part is told its own.
            cap = change.max_cost * (plan.shard.count if plan.shard else 1)
        plan = msgspec.structs.replace(
            plan, concurrency=change.concurrency or plan.concurrency, max_cost=cap
        )
        self._manifest = msgspec.structs.replace(
            before, plan=plan, changes=(*before.changes, change)
        )
        self._save()

    @property
    def spent_before(self) -> Spend:
        """What earlier sessions spent."""
        return sum_of(self._earlier.spent.values())

    @property
    def plan(self) -> EvalPlan:
        """The plan, with its changes."""
        return self._manifest.plan

    @property
    def changes(self) -> tuple[RunChange, ...]:
        """What was changed while the run went on, in any of its sessions."""
        return self._manifest.changes

    def withdraw(self) -> None:
        """Restore the run's state from before a session that ran nothing."""
        if self._earlier.manifest is not None:
            save_manifest(self._folder.manifest, self._earlier.manifest, self._setup.scrub)
            restore_receipt(self._folder, self._receipt)

    def close(
        self,
        outcome: SessionOutcome,
        status: str,
        failure: BaseException | None = None,
        *,
        on_demand: bool = False,
    ) -> Summary:
        """Write results, metadata, the end of the manifest and the receipt, in this order.

        A run `on_demand` had no plan of its size, and its rollouts stay in the journal alone.
        """
        session = msgspec.structs.replace(
            self._session,
            ended=_now(),
            seconds=round(time.monotonic() - self._began, 3),
            status=status,
            failure=str(failure) if isinstance(failure, PrimeError) else None,
            code=failure.code if isinstance(failure, PrimeError) else None,
            signal=outcome.signal,
        )
        sessions = (*self._manifest.sessions[:-1], session)
        unjournaled = read_charges(self._manifest.unjournaled)
        add_charges(unjournaled, outcome.unjournaled)
        spending = Spending(self._setup.plan.model, self._earlier.spent)
        spending.add(outcome.spent)
        self._manifest = msgspec.structs.replace(
            self._manifest,
            status=status,
            ended=session.ended,
            seconds=round(sum(each.seconds or 0 for each in sessions), 3),
            usage=spending.record(),
            served=served_models(self._manifest.served, outcome.served),
            unjournaled=write_charges(unjournaled),
            prices=self._setup.prices.record(),
            failure=session.failure,
            sessions=sessions,
            connections=outcome.connections.with_earlier(
                self._manifest.connections, self._setup.scrub.text
            ),
            withheld=self._manifest.withheld if self._withheld is None else self._withheld.found,
            warned=tuple(dict.fromkeys((*self._manifest.warned, *outcome.warned)))[:MOST_WARNINGS],
            planned=self._earlier.tally.finished if on_demand else self._manifest.planned,
        )
        return self._write_all(with_results=not on_demand)

    def _write_all(self, *, with_results: bool) -> Summary:
        tally = self._earlier.tally
        summary = self._scrubbed(summary_of(self._folder, self._manifest, tally))
        if tally.finished and with_results:
            write_results(self._folder.journal, self._folder.results)
            self._write_metadata(summary)
        self._manifest = msgspec.structs.replace(
            self._manifest,
            counts=summary.counts,
            reward=summary.reward,
            asked_again=summary.asked_again,
        )
        self._save()
        close_receipt(self._folder)
        return summary

    def _scrubbed(self, summary: Summary) -> Summary:
        """`summary` without secrets, to be shown: the tally holds unscrubbed rows."""
        scrub = self._setup.scrub.text
        return msgspec.structs.replace(
            summary,
            metrics={scrub(name): metric for name, metric in summary.metrics.items()},
            errors=[
                msgspec.structs.replace(
                    each,
                    type=scrub(each.type),
                    message=scrub(each.message),
                    traceback=None if each.traceback is None else scrub(each.traceback),
                )
                for each in summary.errors
            ],
            failure=None if summary.failure is None else scrub(summary.failure),
        )

    def _write_metadata(self, summary: Summary) -> None:
        content = msgspec.json.encode(official_metadata(self._setup.plan, summary))
        content = self._setup.scrub(msgspec.json.format(content, indent=2))
        write_atomically(self._folder.metadata, content + b"\n", mode=0o644)

    def _save(self) -> None:
        save_manifest(self._folder.manifest, self._manifest, self._setup.scrub)


def facts_of(interpreter: Interpreter) -> InterpreterFacts:
    """The facts about `interpreter` for the manifest."""
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
