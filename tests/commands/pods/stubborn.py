"""Machines that are not always given back when they should."""

from dataclasses import dataclass, field, replace

from prime_cli.core.errors import NotAllowed
from prime_cli.wire.pods import DELETING
from tests.helpers.machines import Machines


@dataclass
class Stubborn(Machines):
    """Pods called as one of `stuck` cannot be ended; those of `lingering` take their time."""

    stuck: set[str] = field(default_factory=set)
    lingering: set[str] = field(default_factory=set)

    def end(self, tag: str) -> None:
        name = self.started[tag].name
        if name in self.stuck:
            raise NotAllowed("The cloud of `paper` takes this key no more")
        if name in self.lingering:
            self.seen[tag] = replace(self.seen[tag], status=DELETING)
        else:
            super().end(tag)
