"""The options of a push, which runs it accepts, and which secrets it removes."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from prime_cli.core.errors import PartialResult, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.core.refs import EnvRef
from prime_cli.models.endpoints import Endpoint
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.saved_run import SavedRun, resume_words
from prime_cli.runs.scrubber import Scrubber, secrets_of
from prime_cli.runs.summary import Summary


@dataclass(frozen=True)
class PushOptions:
    """How to push. `evaluation_id` is an evaluation to push into, `run_id` a training run's.

    `team` (a slug or id) gets the evaluation, instead of the key's user. `partial` pushes runs that
    have not ended or have too many errors; `anew` always creates another evaluation. `trust` says
    how far its judges can be trusted. Progress is recorded after each `batch_bytes`.
    """

    environment: EnvRef | None = None
    name: str | None = None
    evaluation_id: str | None = None
    run_id: str | None = None
    team: str | None = None
    is_public: bool = False
    partial: bool = False
    anew: bool = False
    trust: tuple[str, ...] = ()
    batch_bytes: int = 4 * 1024 * 1024


class PushResult(msgspec.Struct, frozen=True):
    """The result of a push. `status` is `pushed`, `updated` or `unchanged`; `skipped` are the
    positions (from 0) of rollouts too large for any request. `widened` if it made it public.
    """

    evaluation_id: str
    status: str
    run_id: str
    path: str
    hub: str
    samples: int
    viewer_url: str | None = None
    skipped: list[int] = []
    widened: bool = False


class PushResults(msgspec.Struct, frozen=True):
    """Those of several runs."""

    results: list[PushResult]


_ANYWAY = "push it as it is with `--allow-partial`"


def require_whole(run: SavedRun, summary: Summary) -> None:
    """Raise PartialResult for a run that has not ended, or with more errors than its limit.

    Another tool's folder has no limit: no rollout may have ended in an error.
    """
    counts = summary.counts
    done = counts.scored + counts.errored
    resume = f"finish it with `prime eval run --resume {summary.run_id}`, or {_ANYWAY}"
    if not done:
        raise UsageError(f"Run {summary.run_id} has no rollouts to push")
    if summary.status != FINISHED:
        raise PartialResult(
            f"Run {summary.run_id} is {summary.status}: {done:,} of "
            f"{pluralize(counts.planned, 'rollout')} are there",
            hint=resume,
        )
    limit = run.manifest.plan.max_error_rate if run.manifest is not None else 0.0
    if summary.error_rate > limit:
        again = resume_words(summary, f"prime eval run --resume {summary.run_id}")
        raise PartialResult(
            f"{counts.errored:,} of {pluralize(done, 'rollout')} of run {summary.run_id} "
            "ended in an error",
            hint=f"{again}, or {_ANYWAY}" if again else _ANYWAY,
        )


def scrubber_for(run: SavedRun, environ: Mapping[str, str], hub_key: str | None) -> Scrubber:
    """Replaces the keys in `environ`, those that the run's environment could read, and the hub's.

    Saved files are already scrubbed, with the keys that were known then.
    """
    named = run.manifest.plan.env_vars if run.manifest is not None else ()
    passed = {name: environ[name] for name in named if name in environ}
    secrets = secrets_of(Endpoint("", builtin=True), environ, passed)
    return Scrubber(secrets | ({"PRIME_API_KEY": hub_key} if hub_key else {}))
