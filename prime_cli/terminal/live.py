"""A table on a terminal that is drawn again and again, in the same place."""

from collections.abc import Sequence
from types import TracebackType
from typing import IO, Self, cast

from rich.console import Console
from rich.live import Live
from rich.text import Text

from prime_cli.terminal.bars import Screen
from prime_cli.terminal.streams import Stream
from prime_cli.terminal.tables import draw
from prime_cli.terminal.words import clean


class LiveTable:
    """A context; `show` replaces what was shown before, and the last of it stays.

    The cursor is hidden in between, and comes back whichever way the context is left.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        screen = cast("IO[str]", Screen(stream))
        self._console = Console(file=screen, highlight=False, force_terminal=True)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._live.stop()
        except BaseException:  # Ctrl-C once more
            self._console.show_cursor(show=True)
            raise

    def show(self, columns: Sequence[str], rows: Sequence[Sequence[str]], below: str) -> None:
        """Rows under columns, and a line below them; a screen that is too low is cut."""
        cells = [[self._stream.fit(" ".join(clean(cell).split())) for cell in row] for row in rows]
        table = draw(columns, cells, title=None, stream=self._stream)
        text = Text.from_ansi(f"{table.rstrip()}\n{self._stream.fit(clean(below))}")
        self._live.update(text, refresh=True)
