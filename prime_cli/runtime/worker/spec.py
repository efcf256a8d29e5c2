"""The parent's orders, as read from the first line of stdin."""

from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Optional


@dataclass
class Spec:
    """See `prime_cli.runtime.protocol.Spec`, which writes it."""

    module: str
    env_id: str
    model: str
    base_url: str
    token: str
    generation: str = "v0"
    protocol: int = 1
    args: Dict[str, Any] = field(default_factory=dict)
    extra: Dict[str, Any] = field(default_factory=dict)
    sampling: Dict[str, Any] = field(default_factory=dict)
    n: int = 5
    r: int = 3
    concurrency: int = 32
    seed: Optional[int] = None
    socket: Optional[str] = None
    done: List[Any] = field(default_factory=list)
    attempts: Dict[str, int] = field(default_factory=dict)
    state_columns: List[str] = field(default_factory=list)
    max_retries: int = 0
    call_retries: int = 5
    timeout_s: Optional[float] = None
    independent_scoring: bool = False
    harness: Optional[str] = None
    pythonpath: List[str] = field(default_factory=list)

    def attempt(self, example, rollout):
        """The number of the attempt that a rollout starts with."""
        return self.attempts.get(f"{example}.{rollout}", 1)

    def owed(self, examples):
        """What is left to run: [(example, [rollout, ...]), ...] in order."""
        done = {(example, rollout) for example, rollout in self.done}
        pairs = (
            (example, [r for r in range(self.r) if (example, r) not in done])
            for example in range(examples)
        )
        return [(example, rollouts) for example, rollouts in pairs if rollouts]


def from_message(message):
    known = {item.name for item in fields(Spec)}
    return Spec(**{name: value for name, value in message.items() if name in known})
