"""What an interpreter is searched for."""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.runtime.locks import lock_digest
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.sandbox import Sandbox
from prime_cli.runtime.variables import Variables
from prime_cli.wire.locks import Lock


@dataclass(frozen=True)
class Request:
    """What is searched for; `verifiers` is a specifier, `python` a path, version or specifier.

    A `lock` that `is_pinned` is the only one that will do, and nothing is searched without it.
    """

    package: WheelPackage
    home: Path
    lock: Lock | None = None
    is_pinned: bool = False
    verifiers: str | None = None
    python: str | None = None
    beside: tuple[WheelPackage, ...] = ()
    offline: bool = False
    variables: Variables | None = None
    sandbox: Sandbox | None = None

    @property
    def variant(self) -> str:
        """What sets this apart from the plain request for the same wheel; "" if nothing."""
        sources = " ".join(str(source) for source in self.package.sources)
        asked = {"verifiers": self.verifiers, "python": self.python, "sources": sources}
        if self.is_pinned and self.lock is not None:
            asked["lock"] = lock_digest(self.lock)
        return " ".join(f"{name}={value}" for name, value in asked.items() if value)

    @property
    def speaks_for_the_wheel(self) -> bool:
        """Whether the lock that is found is good for whoever has the wheel alone."""
        asked = self.verifiers or self.python or self.is_pinned
        return not asked and not any(source.is_local for source in self.package.sources)
