"""The spec of a run, which is the parent's first message."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class WorkerSpec:
    """See `prime_cli.runtime.protocol.WorkerSpec`, which writes it."""

    module: str
    env_id: str
    model: str
    base_url: str
    token: str
    generation: str = "v0"
    protocol: int = 1
    args: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    n: int = 5
    r: int = 3
    concurrency: int = 32
    seed: int | None = None
    socket: str | None = None
    done: list[Any] = field(default_factory=list)
    prefix: int = 0
    fingerprint: str | None = None
    attempts: dict[str, int] = field(default_factory=dict)
    state_columns: list[str] = field(default_factory=list)
    max_retries: int = 0
    call_retries: int = 5
    timeout_s: float | None = None
    score_s: float | None = None
    blocked_s: float | None = None
    independent_scoring: bool = False
    harness: str | None = None
    answers: bool = True
    pythonpath: list[str] = field(default_factory=list)
    first: int | None = None
    survey: bool = False
    watch_network: bool = False
    only_gateway: bool = False
    has_network: bool = True
    saved: str | None = None
    run_rest: bool = False
    offline: bool = False
    uv: str | None = None
    withheld: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    follow: bool = False
    program: dict[str, Any] | None = None
    compared: list[str] | None = None
    said: list[str] = field(default_factory=list)
    """Choices that the worker made, for the user to read."""
    own_split: str | None = None
    """Which of its own datasets a v0 environment shall use, if one was asked for."""
    has_eval: bool | None = None
    """Whether one that trains has other data for evaluation; None where that is unknown."""

    max_turns: int | None = None
    """The most turns of a v0 environment's rollout; None where there is no limit, or none known."""

    def attempt(self, example: int, rollout: int) -> int:
        """The number of the attempt that a rollout starts with."""
        return self.attempts.get(f"{example}.{rollout}", 1)

    def owed(self, examples: Iterable[int]) -> list[tuple[int, list[int]]]:
        """The rollouts left to run: [(example, [rollout, ...]), ...] in order."""
        done = {(example, rollout) for example, rollout in self.done}
        pairs = (
            (example, [r for r in range(self.r) if (example, r) not in done])
            for example in examples
        )
        return [(example, rollouts) for example, rollouts in pairs if rollouts]


def from_message(message: dict[str, Any]) -> WorkerSpec:
    known = {item.name for item in fields(WorkerSpec)}
    return WorkerSpec(**{name: value for name, value in message.items() if name in known})
