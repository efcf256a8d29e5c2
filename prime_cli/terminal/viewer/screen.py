"""What all screens share: a head, a foot with the keys, and a status line."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

from prime_cli.core.errors import PrimeError
from prime_cli.terminal.viewer.text import one_line


class ReadFailed(Message):
    """A background thread failed."""

    def __init__(self, failure: PrimeError) -> None:
        super().__init__()
        self.failure = failure


class ViewerScreen(Screen[None]):
    """A title, some lines, the screen's own part, a line of status, and the keys."""

    DEFAULT_CSS = """
    ViewerScreen Static { height: auto; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    ViewerScreen #title { background: $primary; color: $text; text-style: bold; }
    ViewerScreen #names { color: $text-muted; text-style: underline; }
    ViewerScreen #status { color: $text-muted; text-wrap: wrap; max-height: 3; }
    """
    is_first = False
    """Whether leaving it leaves the app."""

    def compose(self) -> ComposeResult:
        yield label("title")
        yield label("facts")
        yield from self.parts()
        yield label("status")
        yield Footer(compact=True)

    def parts(self) -> Iterable[Widget]:
        """The widgets between the head and the status line."""
        return ()

    def say(self, name: str, *lines: str) -> None:
        """Show lines of untrusted text in the label `name`."""
        self.query_one(f"#{name}", Static).update("\n".join(one_line(line) for line in lines))

    def name_columns(self, names: str) -> None:
        """Show the column names in the label `names`."""
        self.query_one("#names", Static).update(names)

    def fail(self, failure: PrimeError) -> None:
        """Show a failure in the status line."""
        hint = f" - {failure.hint}" if failure.hint else ""
        self.say("status", f"{failure.message}{hint}")

    def on_read_failed(self, event: ReadFailed) -> None:
        self.fail(event.failure)

    def action_back(self) -> None:
        """Leave this screen; from the first one, the app."""
        if self.is_first:
            self.app.exit()
        else:
            self.app.pop_screen()


def label(name: str) -> Static:
    """A label for text without markup."""
    return Static("", id=name, markup=False)
