"""What `prime rollouts` gives to trainers, and what its service is asked."""

from typing import Annotated, Any, Literal

import msgspec


class Span(msgspec.Struct, array_like=True, frozen=True):
    """The tokens from `start` up to `end` of a segment were sampled in one turn.

    `version` is that of the weights; `finish_reason` is what the server gave.
    """

    start: int
    end: int
    version: int = 0
    finish_reason: str | None = None


class Segment(msgspec.Struct, kw_only=True):
    """One training row: all token `ids` in order, and for each its log-probability in nats.

    What lies in a span was sampled by the policy. The rest is the prompt, or was added by the
    environment; its log-probabilities are 0.0, and a trainer masks it.
    """

    ids: list[int]
    logprobs: list[float]
    spans: list[Span]


class RolloutFailure(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """Why there is no reward; `kind` (`class` in JSON) is infra, model or environment, or cancelled
    where a person has ended it.
    """

    kind: str
    type: str
    message: str


class TrainingRollout(msgspec.Struct, kw_only=True):
    """One finished rollout; `reward` is null exactly when `error` is not.

    Several `segments` mean that a later prompt did not continue the earlier tokens. `timing` is in
    seconds, `usage` in tokens. `messages` are the prompt and completion as chat messages; null
    where they were not asked for, or the environment has none.
    """

    example: int
    rollout: int
    attempt: int = 1
    reward: float | None = None
    metrics: dict[str, Any] = {}
    error: RolloutFailure | None = None
    stop_condition: str | None = None
    is_truncated: bool = False
    timing: dict[str, Any] = {}
    usage: dict[str, Any] | None = None
    segments: list[Segment] = []
    messages: list[Any] | None = None


# --- The service ---

Count = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Whole = Annotated[int, msgspec.Meta(ge=0)]


class LoadedEnvironment(msgspec.Struct, kw_only=True, frozen=True):
    """GET /v1/environment: what rollouts can be asked for.

    `numbers` are those of the examples, null if they count from 0. Rollouts of one ask are scored
    together where the `unit` is group. `fingerprint` is the SHA-256 of the examples. `max_turns`
    are the most of a rollout, null where that is unlimited or unknown.

    Of several `environments` the examples are numbered in turn: `number % len(environments)` is the
    place of an example's environment. `numbers` is then the order to train in, in which an example
    may come more than once, and all else is of the first; each describes itself in `environments`.
    """

    name: str
    ref: str
    sha256: str
    examples: int
    numbers: list[int] | None
    unit: Literal["rollout", "group", "episode"]
    split: str | None
    fingerprint: str
    family: str | None
    harness: str | None
    max_turns: int | None = None
    environments: list["LoadedEnvironment"] = []


class PolicyUpdate(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """PUT /v1/policy, again after each update of the weights: where they are, and their version.

    Without `url` and `model`, or without `sampling`, those of the current policy stay. `sampling`
    is what every call of the policy uses, over that of the command line; `api_key` is for `url`.
    """

    version: Whole
    url: str | None = None
    model: str | None = None
    sampling: dict[str, Any] | None = None
    api_key: str | None = None


class RolloutAsk(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/rollouts: `n` rollouts of an example; the answer has one line for each.

    `policy` is one for these rollouts alone. Without `record` its calls pass unchanged, and there
    are no segments. The `tag` is kept in the journal, such as {"step": 12}.
    """

    example: int
    n: Count = 1
    policy: PolicyUpdate | None = None
    record: bool = True
    messages: bool = False
    tag: dict[str, Any] = {}


class TrainingStep(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/steps: a step of the trainer, with its metrics by name."""

    step: Whole
    metrics: dict[str, Any] = {}


class StepAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """Whether to `stop` after this step, with a checkpoint.

    If it is also `finished`, there is nothing left to learn: end as after the last step.
    """

    stop: bool = False
    finished: bool = False


class EvaluationAsk(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/evaluations, of `prime train` alone: evaluate the weights after `step` steps.

    They must answer until the request is answered.
    """

    step: Whole


class Evaluated(msgspec.Struct, kw_only=True, frozen=True):
    """The mean reward over held-out examples; null without a scored rollout.

    `best` is the trained step with the highest one, whose checkpoint is to be kept.
    """

    step: int
    reward: float | None
    best: int | None = None


class NodeJoin(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/nodes, of `prime train` alone: another machine asks to train with the first one.

    `facts` are what must be the same there.
    """

    host: str
    facts: dict[str, str]


class NodeLine(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a node is told: its `number` once all nodes are there, then that it `ended` well.

    The number of the first node is 0.
    """

    number: int | None = None
    ended: bool = False


class EngineFailure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/failures, of `prime train` alone: why the engine ends now.

    `code` is one of prime's errors, such as gate_failed, usage, not_found or engine_failed.
    """

    code: str
    message: str
    hint: str | None = None


class TrainerCheckpoint(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/checkpoints: the weights after a step lie whole in the folder `path`."""

    step: Whole
    path: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]


class TrainerLog(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """POST /v1/log: what the trainer has to say to its user."""

    text: Annotated[str, msgspec.Meta(max_length=65_536)]


class ServiceError(msgspec.Struct, kw_only=True, frozen=True):
    """The body of every refusal, and the last line of an answer that broke off."""

    error: str
    hint: str | None = None
