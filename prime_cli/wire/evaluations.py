"""Evaluations on the wire, in the shapes of the official client (releases 0.5 to 0.18)."""

from typing import Annotated, Any

import msgspec

from prime_cli.core.options import Option
from prime_cli.wire.locks import ReceiptMark
from prime_cli.wire.queries import Offset, Param

# No answer here wears the `{"data": …}` envelope.
PENDING = "PENDING"
RUNNING = "RUNNING"
COMPLETED = "COMPLETED"
FAILED = "FAILED"
CANCELLED = "CANCELLED"
CLOSED = (COMPLETED, FAILED, CANCELLED)
"""The states in which an evaluation has ended."""

FEATURE = "evaluations"
"""The feature of hubs that recognize a batch that is sent twice."""
LOGS_FEATURE = "evaluation_logs"
"""The feature of hubs that keep a run's log with its evaluation."""
MOST_LOG_BYTES = 1024 * 1024
"""The longest log, as UTF-8; longer ones are refused, so clients send only the end."""


class EnvironmentReference(msgspec.Struct, omit_defaults=True):
    """An evaluated environment: `id` is its id, or `owner/name`; `slug` is ours."""

    id: str | None = None
    version_id: str | None = None
    slug: str | None = None


class EvaluationRequest(msgspec.Struct, omit_defaults=True):
    """`POST /evaluations/`; `environments`, `run_id` or `suite_id` names what was evaluated."""

    name: str
    environments: list[EnvironmentReference] | None = None
    suite_id: str | None = None
    run_id: str | None = None
    model_name: str | None = None
    dataset: str | None = None
    framework: str | None = None
    task_type: str | None = None
    description: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    team_id: str | None = None
    is_public: bool | None = None
    is_hosted: bool | None = None


class EvaluationTicket(msgspec.Struct):
    """The new evaluation."""

    evaluation_id: str
    name: str = ""
    status: str = PENDING
    eval_type: str = "environment"
    environment_ids: list[str] = []
    suite_id: str | None = None
    run_id: str | None = None
    version_id: str | None = None
    viewer_url: str | None = None
    created_at: str = ""


class FinalizeRequest(msgspec.Struct, omit_defaults=True):
    """`POST /evaluations/{id}/finalize`."""

    metrics: dict[str, Any] | None = None


class FinalizeResult(msgspec.Struct):
    """A summary of a finished evaluation; scores are rewards."""

    evaluation_id: str = ""
    status: str = COMPLETED
    message: str | None = None
    total_samples: int | None = None
    avg_score: float | None = None
    min_score: float | None = None
    max_score: float | None = None
    viewer_url: str | None = None


class MetricSummary(msgspec.Struct):
    """Statistics of one number of the samples; `std` is the sample standard deviation (n - 1)."""

    count: int
    mean: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None


class EvaluationSummary(msgspec.Struct):
    """What the hub computes from the samples. Ours."""

    samples: int
    errors: int
    metrics: dict[str, MetricSummary] = {}


class EvaluatedEnvironment(msgspec.Struct):
    """The environment as it was evaluated; `id` is null once it is deleted."""

    slug: str
    id: str | None = None
    version_id: str | None = None
    semantic_version: str | None = None


class EvaluationDetail(msgspec.Struct):
    """`GET /evaluations/{id}`, and a row of the list.

    `owner`, `environments`, `summary` and `receipt` are ours. `metadata` is never null.
    """

    evaluation_id: str
    name: str = ""
    status: str = PENDING
    eval_type: str = "environment"
    owner: str = ""
    user_id: str | None = None
    team_id: str | None = None
    environment_ids: list[str] = []
    environment_names: list[str] = []
    environments: list[EvaluatedEnvironment] = []
    suite_id: str | None = None
    run_id: str | None = None
    version_id: str | None = None
    is_hosted: bool = False
    error_message: str | None = None
    model_name: str | None = None
    dataset: str | None = None
    framework: str | None = None
    task_type: str | None = None
    description: str | None = None
    tags: list[str] = []
    total_samples: int = 0
    avg_score: float | None = None
    min_score: float | None = None
    max_score: float | None = None
    created_at: str = ""
    updated_at: str = ""
    completed_at: str | None = None
    metadata: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    summary: EvaluationSummary | None = None
    viewer_url: str | None = None
    is_public: bool = False
    receipt: ReceiptMark | None = None

    @property
    def progress(self) -> str:
        """`12 of 40` samples of an evaluation that goes on; empty for others."""
        of = f" of {self.planned:,}" if self.planned else ""
        return "" if self.status in CLOSED else f"{self.total_samples:,}{of}"

    @property
    def planned(self) -> int | None:
        """How many samples it will have, if its metadata say so."""
        n, k = (self.metadata.get(each) for each in ("num_examples", "rollouts_per_example"))
        return n * k if type(n) is type(k) is int and min(n, k) > 0 else None


class EvaluationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which evaluations to list; an environment's name is `name` or `owner/name`."""

    team_id: Annotated[str | None, Param("Only evaluations of this team")] = None
    environment_id: Annotated[
        str | None, Param("Only evaluations of the environment with this id")
    ] = None
    environment_name: Annotated[
        str | None,
        Option("Of this environment.", names=("--env", "--env-name", "-e"), metavar="ENVIRONMENT"),
        Param("Only evaluations of this environment: `name` or `owner/name`"),
    ] = None
    suite_id: Annotated[str | None, Param("Only evaluations of this suite")] = None
    skip: Offset = 0
    limit: Annotated[int, Param("Maximum number of items", least=1, most=100)] = 50


class EvaluationPage(msgspec.Struct):
    """`GET /evaluations/`, newest first."""

    evaluations: list[EvaluationDetail]
    total: int = 0
    skip: int = 0
    limit: int = 50


class EvaluationUpdate(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`PUT /evaluations/{id}`: missing and null fields stay unchanged.

    `status` may only become `FAILED` or `CANCELLED`.
    """

    name: str | None = None
    model_name: str | None = None
    dataset: str | None = None
    framework: str | None = None
    task_type: str | None = None
    description: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    is_public: bool | None = None
    status: str | None = None
    error_message: str | None = None


class BulkDeletion(msgspec.Struct):
    """`POST /evaluations/bulk-delete`."""

    evaluation_ids: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100)]


class BulkDeletionResult(msgspec.Struct):
    """What was deleted, and what was not because it is unknown or another owner's."""

    success_count: int
    failure_count: int
    successful_ids: list[str]
    failed_ids: list[str]


class EvaluationLogs(msgspec.Struct):
    """`GET /hosted-evaluations/{id}/logs`, and our `PUT`: the run's output.

    Answers name the evaluation, as the published schema does.
    """

    logs: str = ""
    evaluation_id: str = ""


class EvaluationChange(msgspec.Struct):
    """The state after an update or deletion."""

    evaluation_id: str
    name: str = ""
    status: str = PENDING
    updated_at: str = ""


# --- Samples ---
# JSON has neither NaN nor infinity (RFC 8259, section 6), so a batch with one is refused.


class SampleBatch(msgspec.Struct):
    """`POST /evaluations/{id}/samples`: JSON objects."""

    samples: list[msgspec.Raw]


class RefusedSample(msgspec.Struct):
    """A sample that is not kept: its index in the batch, from 0, and the reason."""

    index: int
    reason: str


class BatchReceipt(msgspec.Struct):
    """How many samples of the batch are kept.

    Only our hubs list the indices of samples with `replaced` values, and those that they `refused`.
    """

    evaluation_id: str = ""
    samples_pushed: int = 0
    status: str = RUNNING
    replaced: list[int] | msgspec.UnsetType = msgspec.UNSET
    refused: list[RefusedSample] | msgspec.UnsetType = msgspec.UNSET


class SampleQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which samples to list: all, or those that match every filter; `page` starts at 1.

    The bounds of the reward are exclusive; `search` matches anywhere in the JSON. Only our hubs
    have filters.
    """

    limit: Annotated[
        int,
        Option("Maximum number of rows per page.", names=("--num", "-n"), least=1, most=1000),
        Param("Number of items per page", least=1, most=1000),
    ] = 100
    page: Annotated[
        int,
        Option("Which page.", names=("--page", "-p"), least=1),
        Param("Page number, starting at 1", least=1, most=2**31 // 1000),
    ] = 1
    errors_only: Annotated[
        bool,
        Option("Only samples with an error.", names=("--errors",)),
        Param("Only samples that ended with an error"),
    ] = False
    reward_above: Annotated[
        float | None,
        Option("Only with a larger reward.", names=("--above",)),
        Param("Only samples with a reward above this value"),
    ] = None
    reward_below: Annotated[
        float | None,
        Option("Only with a smaller reward.", names=("--below",)),
        Param("Only samples with a reward below this value"),
    ] = None
    search: Annotated[
        str | None,
        Option("Only with this text.", names=("--search", "-s")),
        Param("Only samples that contain this text"),
    ] = None

    @property
    def is_filtered(self) -> bool:
        """Whether there is a filter."""
        return self != SampleQuery(limit=self.limit, page=self.page)


class SamplePage(msgspec.Struct):
    """`GET /evaluations/{id}/samples`; official clients read either name of `has_more`."""

    evaluation_id: str
    samples: list[msgspec.Raw]
    total: int = 0
    page: int = 1
    limit: int = 100
    total_pages: int = 0
    has_more: bool = False
    hasMore: bool = False  # noqa: N815 - the wire has both


# --- History ---


class HistoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which finished evaluations of an environment to list."""

    model_name: Annotated[str | None, Param("Only evaluations of this model")] = None
    version: Annotated[str | None, Param("Only evaluations of this version")] = None
    receipts: Annotated[bool, Param("Only evaluations with a valid receipt")] = False
    skip: Offset = 0
    limit: Annotated[int, Param("Maximum number of evaluations", least=1, most=1000)] = 100


class HistoryGroup(msgspec.Struct):
    """Finished evaluations of one version by one model; `mean_reward` weighs every sample alike."""

    version: str | None
    model_name: str | None
    evaluations: int
    samples: int
    mean_reward: float | None
    first_at: str
    last_at: str


class HistoryPoint(msgspec.Struct):
    """One finished evaluation of an environment."""

    evaluation_id: str
    name: str
    owner: str
    version: str | None
    model_name: str | None
    samples: int
    mean_reward: float | None
    finished_at: str


class BestEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The visible evaluation of one version whose 95 % interval has the highest lower end.

    Built-in models are left out. Without any `interval`, the one with the highest mean.
    """

    evaluation_id: str
    model_name: str
    owner: str
    version: str | None
    samples: int
    mean_reward: float
    interval: tuple[float, float] | None


class EvaluationHistory(msgspec.Struct):
    """`GET /environmentshub/{owner}/{name}/evaluations`, newest first. Ours.

    `best` is of all evaluations of the latest version, else of the last that has any.
    """

    groups: list[HistoryGroup]
    evaluations: list[HistoryPoint]
    total: int = 0
    best: BestEvaluation | None = None
