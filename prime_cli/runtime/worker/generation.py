"""What a session needs of a loaded environment, whichever generation it is of."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

from .rows import Row
from .survey import Example


class Generation(Protocol):
    """A loaded environment: `v0.V0` or `v1.V1`, made from (spec, module).

    `environment` is what verifiers made; `unit` is "rollout", "group" or "episode"; at most
    `lanes` units run at a time.
    """

    environment: Any
    examples: Sequence[Any]
    unit: str
    family: str
    harness: str | None
    agents: Sequence[dict[str, Any]]
    lanes: int

    @property
    def answers(self) -> dict[str, Any]:
        """{index of an example: its gold answer}, for those that have one."""

    @property
    def lines(self) -> Iterator[bytes]:
        """The examples in order, as the bytes that their fingerprint is made of."""

    @property
    def described(self) -> list[Example]:
        """The examples as `survey` reads them."""

    @property
    def weights(self) -> dict[str, float] | None:
        """{name of a reward: its weight}; None where that cannot be told."""

    def gold(self, example: int) -> tuple[Any, Any]:
        """(answer, info) of an example, for an oracle."""

    async def run_unit(self, example: int, rollouts: list[int], attempt: int) -> list[Row]:
        """One row for each rollout, whatever happens."""

    async def serve(self, run: Callable[[], Awaitable[None]]) -> None:
        """Await `run()` with everything up that rollouts need."""
