"""A sample of an evaluation without its body, and which rollout of which example it is."""

from typing import NamedTuple

import msgspec

_NAMES = msgspec.json.Decoder(list[str])


class SampleLine(NamedTuple):
    """A sample without its body, which has `size` bytes.

    `identity` is what it says it is, as JSON, if it does.
    """

    number: int
    identity: str | None
    reward: float | None
    failed: bool
    size: int = 0

    @property
    def place(self) -> tuple[str, str]:
        """The example and the rollout, as far as the sample tells them."""
        try:
            parts = _NAMES.decode(self.identity or "")
        except ValueError:
            parts = []
        match parts:
            case [example, rollout]:
                return example, rollout
            case [name]:
                example, _, rollout = name.rpartition(".")
                return (example, rollout) if example else (name, "")
        return str(self.number), ""
