"""Pages as HTML, from a template and a record.

To add a page:

1. Its record: a frozen Struct (or one of `wire`) with what the page shows, made by a service of the
   hub or by the run reader. Templates see nothing else, and compute nothing.
2. Its template: `templates/NAME.html` begins with `{% extends "layout.html" %}` and fills the block
   `content`; the record is `record`. Everything is escaped. What is HTML already, such as a chart
   or a rendered README, is a field of type `Html`; no template says `|safe`. `parts.html` has what
   pages share: commands with a copy button, empty states, problems, an environment's heading.
   Filters: `day`, `moment`, `number`, `bytes`; addresses come from `links`.
3. A function that returns `Page("NAME.html", title, record, command=("prime env info a/b",))`:
   `command` is shown as the same in a terminal.
4. Its route, `@router.page("/dashboard/...")`, returns `answer_page(request, page)`, and
   `answer_page_error(request, error)` when a service raises.

Styles go to a file in `static/`, scripts too: the policy forbids `style=`, `<style>`, `onclick=`
and `<script>` within a page. Every page works without scripts, and at 390 pixels.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from prime_cli.core.errors import PrimeError
from prime_cli.core.formatting import (
    format_bytes,
    format_interval,
    format_number,
    format_p,
    format_usd,
    pluralize,
)
from prime_cli.core.http import sends_unencrypted
from prime_cli.pages import links
from prime_cli.pages.assets import asset
from prime_cli.wire.problems import status_of

if TYPE_CHECKING:
    from jinja2 import Environment


class Html(str):
    """HTML that is safe as it is: made by us, or sanitised."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


class HubCommand(Struct, frozen=True):
    """A command that names the hub whose page shows it: `{url}`, `{context}` and `{login}`."""

    text: str


class Page(Struct, frozen=True):
    """A page before it is framed: `title` is plain text.

    `command` shows the same in a terminal, a line for each. `narrow` suits forms and a few
    sentences. `problem` is why a form of the page was refused.
    """

    template: str
    title: str
    record: Any = None
    command: tuple[str | HubCommand, ...] = ()
    narrow: bool = False
    problem: "ErrorMessage | None" = None


class NavigationLink(Struct, frozen=True):
    """A link at the top of every page."""

    path: str
    label: str


class HubOrigin(Struct, frozen=True):
    """How terminals reach a hub that is served at `url`."""

    url: str = "HUB"
    context: str = "CONTEXT"

    @property
    def login(self) -> str:
        """The command that makes it the current hub of a terminal."""
        allowed = " --allow-http" if sends_unencrypted(self.url) else ""
        return f"prime login --hub {self.url}{allowed}"

    def spell(self, command: str | HubCommand) -> str:
        """The command as it is typed."""
        if isinstance(command, str):
            return command
        return command.text.format(url=self.url, context=self.context, login=self.login)


class Frame(Struct, frozen=True):
    """What surrounds a page: links, the path of the page itself, and `account`, where that is.

    `search` is where the search in the head leads, None for none; `searched` is its text. `hub` is
    one that others can reach.
    """

    navigation: Sequence[NavigationLink] = ()
    here: str = ""
    search: str | None = links.CATALOGUE
    searched: str = ""
    account: NavigationLink | None = None
    hub: HubOrigin | None = None

    @property
    def home(self) -> str:
        """Where the brand in the head leads: the first page of all."""
        return self.navigation[0].path if self.navigation else links.CATALOGUE


class ErrorMessage(Struct, frozen=True):
    """The sentence of a failure, and what to do about it."""

    message: str
    hint: str | None = None


class ErrorRecord(Struct, frozen=True):
    """A failure as a page, with sentences on what to do next and where to go."""

    problem: ErrorMessage
    next: tuple[str, ...] = ()
    onward: NavigationLink | None = None


ALL_ENVIRONMENTS = NavigationLink(links.CATALOGUE, "All environments")


def error_page(
    error: PrimeError,
    following: tuple[str, ...] = (),
    onward: NavigationLink | None = ALL_ENVIRONMENTS,
) -> Page:
    """The page of a failure."""
    record = ErrorRecord(ErrorMessage(error.message, error.hint), following, onward)
    title = _TITLES.get(status_of(error), "Cannot be shown")
    return Page("error.html", title, record, narrow=True)


_TITLES: dict[int, str] = {HTTPStatus.NOT_FOUND: "Not found", HTTPStatus.FORBIDDEN: "Not allowed"}


def problem_of(error: PrimeError | None) -> ErrorMessage | None:
    """What a page says of a failure."""
    return ErrorMessage(error.message, error.hint) if error else None


def render(page: Page, frame: Frame | None = None) -> bytes:
    """The document of a page. Raises PrimeError if the extra `hub` is not installed."""
    template = _environment().get_template(page.template)
    frame = frame or Frame(search=None)
    command = "\n".join(map((frame.hub or HubOrigin()).spell, page.command))
    found = template.render(page=page, record=page.record, frame=frame, command_lines=command)
    # What a user wrote may have half a surrogate pair, which has no UTF-8.
    return found.encode(errors="replace")


@cache
def _environment() -> "Environment":
    from prime_cli.core.installation import require

    require("hub", "Showing pages", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("prime_cli.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    environment.filters |= {
        "day": _day,
        "moment": format_moment,
        "number": partial(format_number, missing=_DASH),
        "bytes": _bytes,
        "interval": format_interval,
        "usd": partial(format_usd, missing=_DASH),
        "p": format_p,
    }
    environment.filters |= {"count": pluralize, "code": _code, "content": _content}
    environment.globals |= {"links": links, "asset": asset}
    return environment


# --- Filters ---

_DASH = "\N{EM DASH}"


def _day(moment: str | None) -> str:
    """The date of an ISO 8601 time."""
    return (moment or "")[:10]


def format_moment(moment: str | None) -> str:
    """An ISO 8601 time to the minute."""
    return f"{moment[:16].replace('T', ' ')} UTC" if moment else ""


def _bytes(size: int | None) -> str:
    """A size in the unit that needs the fewest digits."""
    return _DASH if size is None else format_bytes(size)


def _content(text: str) -> Html:
    """A text within an element, where quotes, of which JSON has many, need no escape."""
    return Html(escape(text, quote=False))


_QUOTED = re.compile(r"`([^`]+)`")


def _code(sentence: str) -> Html:
    """A sentence of ours or an error's, escaped, with what is in backticks as code."""
    return Html(_QUOTED.sub(r"<code>\1</code>", escape(sentence)))
