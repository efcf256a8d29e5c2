"""Which Pythons one search may use: those at hand that fit, or one fetched when there is none."""

import os
from dataclasses import dataclass, field

from prime_cli.core.errors import ResolveFailed
from prime_cli.core.progress import Progress
from prime_cli.runtime.pythons import Python, choose_python, fitting_pythons
from prime_cli.runtime.uv_tool import run_uv

_FORBIDDEN = ("never", "manual")


def download_python(requires: str, progress: Progress) -> bool:
    """Let uv fetch the newest Python inside the specifier `requires`; says so first.

    False when that failed, or when the user's `UV_PYTHON_DOWNLOADS` forbids it.
    """
    if os.environ.get("UV_PYTHON_DOWNLOADS") in _FORBIDDEN:
        return False
    progress.say(f"No installed Python fits {requires}, so uv fetches one")
    return run_uv(["python", "install", "--quiet", requires], download_python=True).ok


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
