"""What a push is asked to do, and what came of it."""

from dataclasses import dataclass

import msgspec

from prime_cli.core.refs import EnvRef


@dataclass(frozen=True)
class PushOptions:
    """How to push. `evaluation_id` is an evaluation to push into, `run_id` a training run's.

    `team` (a slug or id) gets the evaluation, instead of the key's user. `partial` pushes runs that
    have not ended or have too many errors; `anew` makes an evaluation also where one was made. What
    the hub has taken is written down after each `batch_bytes`.
    """

    environment: EnvRef | None = None
    name: str | None = None
    evaluation_id: str | None = None
    run_id: str | None = None
    team: str | None = None
    is_public: bool = False
    partial: bool = False
    anew: bool = False
    batch_bytes: int = 4 * 1024 * 1024


class PushResult(msgspec.Struct, frozen=True):
    """What came of it. `status` is `pushed`, `updated` (was there, and is as the run is now) or
    `unchanged`; `skipped` are places (from 0) of rollouts too large for any request.
    """

    evaluation_id: str
    status: str
    run_id: str
    path: str
    hub: str
    samples: int
    viewer_url: str | None = None
    skipped: list[int] = []
