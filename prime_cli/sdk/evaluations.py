"""Evaluations: what `prime eval …` does."""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from prime_cli.envs.trust import trust_policy_from
from prime_cli.evals.control.client import RunControl, control_of
from prime_cli.evals.execution.run import EvalResult, run_evaluation
from prime_cli.evals.gate.calibration import known_trust
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.resume.candidates import request_of_run, resumable_manifest
from prime_cli.evals.resume.policy import NoQuestions
from prime_cli.evals.sharing.push import push_run
from prime_cli.evals.sharing.push_options import PushOptions, PushResult, scrubber_for
from prime_cli.runs.comparison.compare import (
    CompareOptions,
    Comparison,
    compare_all,
    require_statistics,
)
from prime_cli.runs.comparison.sides import side_of
from prime_cli.runs.listing import RunItem, find_run, list_runs
from prime_cli.runs.saved_run import SavedRun
from prime_cli.sdk.rollouts import Run, RunResult
from prime_cli.session import Session

T = TypeVar("T")


class HubEvaluations:
    """Runs of models on environments, saved below `./outputs/evals`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, environment: str | EvalRequest, model: str | None = None) -> RunResult:
        """Evaluate a model: all examples that the environment says, as `prime eval run` does.

        `environment` is a ref, a folder or a bare name; an EvalRequest has every further wish,
        such as how many examples and rollouts. Blocks until the run has ended, also where a loop
        is running, as in a notebook; the main thread's Ctrl-C ends it in order.

        Raises what the command ends with: NotFound, NotLoggedIn, Unreachable, ResolveFailed,
        LoadFailed. Errors of rollouts are not raised: they are in `result.summary`.
        """
        request = environment if isinstance(environment, EvalRequest) else EvalRequest(environment)
        if model is not None:
            request = replace(request, model=model)
        return RunResult.of(_outside_a_loop(lambda: self._run(request)))

    def resume(self, run: str) -> RunResult:
        """Resume the run with this id or folder.

        Raises NotFound, and Conflict while another process is at it.
        """
        saved = find_run(run, Path.cwd())
        return RunResult.of(_outside_a_loop(lambda: self._resume(saved)))

    def list(self) -> Sequence[RunItem]:
        """The runs that are saved here, newest first."""
        return list_runs(Path.cwd())

    def get(self, run: str | None = None) -> Run:
        """A saved run by its id or folder, by default the newest: `rollouts`, `summary()`.

        Raises NotFound, and UsageError where several ids begin so.
        """
        return Run.of(find_run(run, Path.cwd()))

    def control(self, run: str | None = None) -> RunControl:
        """The reins of a run that goes on in another process, by default the newest here.

        Raises NotFound, and UsageError where several ids begin so.
        """
        return control_of(run, Path.cwd())

    def compare(self, first: str, *others: str, alpha: float = 0.05) -> Sequence[Comparison]:
        """Whether `others` really differ from `first`, example by example, judged together.

        Needs the extra `stats`; raises UsageError without it and Conflict where the runs are of
        different content.
        """
        require_statistics()
        base = side_of(self.get(first))
        return compare_all(
            [(base, side_of(self.get(run))) for run in others], CompareOptions(alpha=alpha)
        )

    def push(self, run: str | None = None, *, public: bool = False) -> PushResult:
        """Push a saved run, by default the newest, to the hub; pushing twice makes one evaluation.

        Raises PartialResult for a run with errors or before its end, and what the hub answers.
        """
        session, saved = self._session, self.get(run)
        trust = known_trust(saved, Path.cwd())
        return push_run(
            session.hub,
            saved,
            PushOptions(is_public=public, team=session.config.context.team, trust=trust),
            scrub=scrubber_for(saved, os.environ, session.credential.key),
            progress=session.progress,
        )

    def _run(self, request: EvalRequest, resumed: SavedRun | None = None) -> EvalResult:
        session = self._session
        policy = session.run_policy(self._lookup(), NoQuestions(session.progress))
        if resumed is None:
            prepared, _ = policy.prepare(request, None, new=True)
        else:
            prepared = policy.prepare_resumed(request, resumed)
        policy.announce_cost(prepared, resumed, verbose=False)
        return run_evaluation(prepared, session.run_context(), resumed)

    def _resume(self, saved: SavedRun) -> EvalResult:
        return self._run(request_of_run(EvalRequest(""), resumable_manifest(saved)), saved)

    def _lookup(self) -> LookupContext:
        return self._session.lookup_context(trust_policy_from(self._session.config, Path.cwd()))


def _outside_a_loop(work: Callable[[], T]) -> T:
    """Do the work here, or in a thread of its own where this one's event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(work).result()
