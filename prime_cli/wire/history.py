"""The evaluations of one environment over time: an addition of ours to the public wire."""

import msgspec


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


class EvaluationHistory(msgspec.Struct):
    """`GET /environmentshub/{owner}/{name}/evaluations`, newest first. Ours."""

    groups: list[HistoryGroup]
    evaluations: list[HistoryPoint]
    total: int = 0
