"""Tables for a terminal: fitted to its width, with colour where it is wanted."""

from collections.abc import Sequence
from io import StringIO
from shutil import get_terminal_size

from rich.box import ASCII, SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prime_cli.terminal.streams import Stream


def draw(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None, stream: Stream
) -> str:
    """The table as text for `stream`; long cells are folded, never cut."""
    unicode = stream.encoding.lower().startswith("utf")
    table = Table(
        box=SIMPLE_HEAD if unicode else ASCII,
        title=title,
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(
        file=StringIO(),
        force_terminal=stream.colour,
        color_system="auto" if stream.colour else None,
        highlight=False,
        width=get_terminal_size().columns,
    )
    with console.capture() as captured:
        console.print(table)
    return captured.get()
