"""Drives the app of `prime eval view` over run folders, and reads its screen."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from prime_cli.evals.viewer.catalogue import Catalogue
from prime_cli.terminal.viewer.app import Viewer

_PATIENCE = 60.0
_SMALL = (80, 24)


class Eyes:
    """What a person at the terminal does and sees."""

    def __init__(self, viewer: Viewer, pilot: Pilot[None]) -> None:
        self.viewer = viewer
        self._pilot = pilot

    @property
    def lines(self) -> list[str]:
        """The screen, line by line."""
        strips = self.viewer.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*text, "enter")

    async def see(self, *texts: str, without: str | None = None) -> None:
        """Wait until all of `texts` are on the screen, and `without` is not."""
        until = time.monotonic() + _PATIENCE
        while not (
            all(text in self.text for text in texts)
            and (without is None or without not in self.text)
        ):
            assert time.monotonic() < until, f"not seen: {texts}, without {without}\n{self.text}"
            await self._pilot.pause(0.02)


Steps = Callable[[Eyes], Awaitable[None]]


def look(viewer: Viewer, steps: Steps, size: tuple[int, int] = _SMALL) -> None:
    """Run `viewer` on a screen of `size` while `steps` are taken."""

    async def run() -> None:
        async with viewer.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(Eyes(viewer, pilot))

    asyncio.run(run())


def look_at_all(cwd: Path, steps: Steps) -> None:
    """Begin with the list of runs below `cwd`."""
    look(Viewer(runs=Catalogue(cwd)), steps)


def look_at_run(path: Path, steps: Steps, size: tuple[int, int] = _SMALL) -> None:
    """Begin with the run in `path`."""
    look(Viewer(run=Catalogue(path).open(path)), steps, size)


def look_at_pair(first: Path, other: Path, steps: Steps) -> None:
    """Begin with two runs side by side."""
    look(Viewer(pair=Catalogue(first).pair(first, other)), steps)
