"""Which Pythons one search may use: those at hand that fit, or one fetched when there is none."""

from dataclasses import dataclass, field

from prime_cli.core.errors import ResolveFailed
from prime_cli.core.progress import Progress
from prime_cli.runtime.python_downloads import download_python
from prime_cli.runtime.pythons import Python, choose_python, fitting_pythons


@dataclass
class PythonChoice:
    """The Pythons for a package; `requires` is its `requires-python`, `wanted` the user's flag.

    A Python is fetched at most once, and only with a `progress` to say so: None means offline.
    """

    requires: str | None
    wanted: str | None
    progress: Progress | None
    _fetched: bool = field(default=False, init=False)

    def for_lock(self, minor: str) -> Python:
        """Of the minor version that a lock was resolved for, if at hand, else a newer one."""
        if self.wanted is not None:
            return choose_python(self.requires, self.wanted)
        try:
            return choose_python(self.requires, minor)
        except ResolveFailed:
            return choose_python(filter(None, [self.requires, f">={minor}"]))

    def for_step(self, also: str | None) -> list[Python]:
        """One of each minor version that fits `also` too, best first; raises ResolveFailed."""
        requires = [text for text in (self.requires, also) if text]
        try:
            fitting = fitting_pythons(requires, self.wanted)
        except ResolveFailed:
            if not self._fetch(requires):
                raise
            fitting = fitting_pythons(requires)
        by_minor: dict[str, Python] = {}
        for python in fitting:
            by_minor.setdefault(python.minor, python)
        return list(by_minor.values())

    def _fetch(self, requires: list[str]) -> bool:
        if self.progress is None or self.wanted is not None or self._fetched:
            return False
        self._fetched = True
        return download_python(",".join(requires), self.progress)
