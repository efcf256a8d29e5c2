"""Where an environment connected beside the gateway: what it calls there is not counted."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from prime_cli.runtime.protocol import Network

_MOST = 100
_LONGEST_NAME = 253
_LOCAL = "localhost"
_DATA_HOSTS = ("huggingface.co", "hf.co")
"""Which answer with files; inference of Hugging Face has hosts of its own."""


class Connection(msgspec.Struct, frozen=True):
    """One host that was connected to; `localhost` is another server of this machine, at `port`.

    What was `refused` came to nothing. A `proxy` stands for hosts behind it, which are not known.
    """

    host: str
    port: int | None = None
    phase: Literal["load", "rollout"] = "rollout"
    proxy: bool = False
    refused: bool = False

    @property
    def name(self) -> str:
        """What a person reads: a host, with its port where it is one of this machine."""
        place = f"{self.host}:{self.port}" if self.host == _LOCAL else self.host
        return f"the proxy {place}" if self.proxy else place

    @property
    def may_be_a_model(self) -> bool:
        """Whether calls to it may have cost something: while rollouts ran, and not for files."""
        is_data = self.host in _DATA_HOSTS or self.host.endswith(".hf.co")
        return self.phase == "rollout" and not is_data


class Connections:
    """Those of one session, each once; code that is not trusted says them."""

    def __init__(self) -> None:
        self._found: dict[Connection, None] = {}

    def hear(self, event: Network) -> None:
        """Take down what a worker says."""
        if len(self._found) < _MOST:
            host = event.host[:_LONGEST_NAME]
            found = Connection(host, event.port, event.phase, event.proxy, event.refused)
            self._found[found] = None

    def with_earlier(
        self, earlier: Iterable[Connection], scrub: Callable[[str], str]
    ) -> tuple[Connection, ...]:
        """These after those of earlier sessions, without secrets."""
        own = (msgspec.structs.replace(each, host=scrub(each.host)) for each in self._found)
        return tuple(dict.fromkeys((*earlier, *own)))


def uncounted(connections: Iterable[Connection]) -> tuple[str, ...]:
    """The names of those that answered and may have cost something."""
    return _names(each for each in connections if each.may_be_a_model and not each.refused)


def refused(connections: Iterable[Connection]) -> tuple[str, ...]:
    """The names of those that were asked for in vain."""
    return _names(each for each in connections if each.refused)


def _names(connections: Iterable[Connection]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.name for each in connections))
