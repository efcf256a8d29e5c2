"""The pages of one environment: tabs with addresses of their own, below a head that all share."""

import re
import shlex
from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from prime_cli.core.formatting import format_number
from prime_cli.core.installation import require
from prime_cli.pages import links
from prime_cli.pages.markdown import BREAK, PART_BYTES
from prime_cli.pages.paging import FIRST, Cursor, Room, Window
from prime_cli.pages.templates import Html, Page
from prime_cli.pages.texts import cut, shorten
from prime_cli.wire.check_reports import in_words
from prime_cli.wire.environment_sources import InspectEntry, Inspection
from prime_cli.wire.environments import EnvironmentDetail

# --- The head ---

_LONGEST_DESCRIPTION = 1000
_TAGS = Room(rows=50, row_bytes=60, bytes=6_000)


class Label(Struct, frozen=True):
    """A kind or a tag; `path` is the list of all that have it, empty for a tag that is cut."""

    text: str
    path: str = ""


def label_environment(kinds: Sequence[str], tags: Sequence[str]) -> list[Label]:
    """Its kinds, then those of its tags that are none of them."""
    found = [Label(kind, links.catalogue_path(kind=kind)) for kind in kinds]
    return found + [Label(tag, links.catalogue_path(tag=tag)) for tag in tags if tag not in kinds]


class Tab(NamedTuple):
    """A page of an environment, where it is, and how much it lists."""

    name: str
    label: str
    path: str
    number: int | None = None


class EnvironmentHead(Struct, frozen=True):
    """What every page of an environment begins with."""

    slug: str
    detail: EnvironmentDetail
    tabs: list[Tab]
    here: str
    check: str | None

    @property
    def description(self) -> str:
        """The description, with its length where it is too long for a head."""
        return shorten(self.detail.metadata.description, _LONGEST_DESCRIPTION)

    @property
    def labels(self) -> Window[Label]:
        """The kinds and the first tags."""
        return _TAGS.window(label_environment(self.detail.kinds, self.detail.metadata.tags))

    @property
    def version(self) -> str:
        """The version shown."""
        return self.detail.semantic_version or ""

    @property
    def latest(self) -> str:
        """The newest version."""
        found = self.detail.latest_version
        return found if isinstance(found, str) else found.semantic_version if found else ""


def head_of(detail: EnvironmentDetail, here: str) -> EnvironmentHead:
    """The head of the tab `here`; the tabs of an older version lead to that version."""
    slug = f"{detail.owner.name}/{detail.name}"
    version = detail.semantic_version or ""
    found = EnvironmentHead(slug, detail, [], here, None)
    at = version if version != found.latest else ""
    evaluations = links.environment_path(slug, "evaluations")
    tabs = [
        Tab("readme", "README", links.environment_path(slug, "", at)),
        Tab("files", "Files", links.files_path(slug, version)),
        Tab("versions", "Versions", links.environment_path(slug, "versions")),
        Tab("evaluations", "Evaluations", evaluations, detail.evaluations),
        Tab("details", "Details", links.environment_path(slug, "details", at)),
    ]
    summary = detail.check_summary
    return EnvironmentHead(slug, detail, tabs, here, in_words(summary) if summary else None)


# --- README, and how to use it ---


class UseCommand(NamedTuple):
    """How one tool uses the environment."""

    tool: str
    lines: str


class EnvironmentFact(NamedTuple):
    """What a publisher or the hub states about an environment."""

    name: str
    value: str


class ReadmeRecord(Struct, frozen=True):
    """A part of the README as safe HTML, none without one, and the commands of each tool."""

    head: EnvironmentHead
    readme: Window[Html]
    uses: list[UseCommand]
    facts: list[EnvironmentFact]


_README = Room(rows=1)


def readme_page(detail: EnvironmentDetail, readme: str, cursor: Cursor = FIRST) -> Page:
    """The first page of an environment; `readme` is safe HTML in parts, or empty."""
    head = head_of(detail, "readme")
    parts = [Html(part) for part in readme.split(BREAK) if part]
    path = next(tab.path for tab in head.tabs if tab.name == "readme")
    shown = _README.window(parts, cursor, path)
    record = ReadmeRecord(head, shown, _uses(head), list(_facts(detail)))
    return Page("environment.html", head.slug, record, command=(f"prime env info {head.slug}",))


def _uses(head: EnvironmentHead) -> list[UseCommand]:
    """The commands of each tool; those of pip and uv need an index that they can read."""
    slug, detail, version = head.slug, head.detail, head.version
    requirement = f"{detail.name}=={version}"
    found = [UseCommand("prime", f"prime env install {slug}\nprime eval run {slug} -m MODEL")]
    if index := detail.simple_index_url:
        found += [
            UseCommand("uv", f"uv add {requirement} --index {index}"),
            UseCommand("pip", f"pip install {requirement} --extra-index-url {index}"),
        ]
    train = f"prime train {slug} -m MODEL"
    found += [
        UseCommand(
            "verifiers", f'import verifiers as vf\n\nenv = vf.load_environment("{detail.name}")'
        ),
        UseCommand("train", f"{train}\n\n# by prime-rl instead of TRL\n{train} --engine prime-rl"),
    ]
    if detail.wheel_sha256:
        pinned = f"prime env install {slug}@{version}#sha256={detail.wheel_sha256}"
        found.append(UseCommand("pinned", pinned))
    return found


_LONGEST_FACT = 80


def _facts(detail: EnvironmentDetail) -> Iterator[EnvironmentFact]:
    metadata, is_public = detail.metadata, detail.visibility == "PUBLIC"
    known = {
        "Visible to": "everybody" if is_public else detail.owner.name,
        "License": metadata.license if isinstance(metadata.license, str) else "",
        "Python": metadata.python_requires,
        "Published": (detail.created_at or "")[:10],
        "Stars": format_number(detail.stars or 0),
        "Downloads": "" if detail.downloads is None else format_number(detail.downloads),
        "Signatures": format_number(detail.signatures) if detail.signatures else "",
    }
    for name, value in known.items():
        if value:
            yield EnvironmentFact(name, shorten(value, _LONGEST_FACT))


def render_plain(source: str, files: str) -> str:
    """A README that cannot be rendered, as its text; it is below the address `files`."""
    text = cut(source, PART_BYTES).replace(BREAK, " ")
    is_cut = len(text) < len(source)
    how = f'this is how <a href="{escape(files)}README.md">its text</a> begins' if is_cut else ""
    return (
        '<p class="faint">This README is too large or too deeply nested to be rendered; '
        f"{how or 'this is its text'}.</p>\n<pre>{escape(text, quote=False)}</pre>"
    )


# --- Files ---


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file of a version with some of its lines, or some of the entries of a folder.

    `code` is None for a file that is no text; all of a file is at the address `raw`.
    """

    head: EnvironmentHead
    found: Inspection
    files_at: str
    folders: list[Tab]
    entries: Window[InspectEntry] | None
    code: Window[Html] | None
    raw: str


_LINES = Room(rows=5_000, row_bytes=0, bytes=90_000)
_ENTRIES = Room(rows=500, row_bytes=100, times=2, bytes=90_000)


def file_page(detail: EnvironmentDetail, found: Inspection, cursor: Cursor = FIRST) -> Page:
    """The page of a file or folder, with the lines or entries at `cursor`."""
    head = head_of(detail, "files")
    at = links.files_path(head.slug, head.version)
    here = links.file_path(at, found.path)
    entries, code = None, None
    if found.entries is not None:
        entries = _ENTRIES.window(found.entries, cursor, here)
    elif "\0" not in (content := found.content or ""):
        code = _LINES.window(highlight(found.path, content), cursor, here)
    record = FileRecord(
        head=head,
        found=found,
        files_at=at,
        folders=_folders(at, found.path),
        entries=entries,
        code=code,
        raw=links.raw_path(head.slug, head.version, found.path),
    )
    # A file's name is its publisher's, and the line is there to be pasted into a shell.
    path = (found.path,) if found.path else ()
    command = shlex.join(("prime", "env", "inspect", f"{head.slug}@{head.version}", *path))
    title = f"{found.path} of {head.slug}" if found.path else f"Files of {head.slug}"
    return Page("file.html", title, record, command=(command,))


_MOST_FOLDERS = 8


def _folders(at: str, path: str) -> list[Tab]:
    """The innermost folders that a path is in, from the outside."""
    parts = path.split("/")[:-1]
    inner = ["/".join(parts[: depth + 1]) for depth in range(len(parts))][-_MOST_FOLDERS:]
    return [Tab(each, each.rpartition("/")[2], links.file_path(at, each)) for each in inner]


# --- Source code, coloured by Pygments ---

_MOST_TOKENS = 4000
"""What follows is not coloured: each takes about 8 us, whatever a publisher writes."""
_MOST_CHARACTERS = 16 * 1024
_LONGEST_LINE = 20_000
"""In bytes of HTML; of a longer one the beginning is shown."""
# Lexers take quadratic time for both.
_TOO_LONG = re.compile(r"[^\n]{501}|\s{201}")
_LEXERS = {
    ".py": "python",
    ".pyi": "python",
    ".toml": "toml",
    ".lock": "toml",
    ".json": "json",
    ".jsonl": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "bash",
}


def highlight(path: str, text: str) -> list[Html]:
    """`text`, the content of a file at `path`, as lines that can be linked to: `#L12`."""
    # All of them: Pygments drops one that is left.
    plain = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    lexer = next((name for end, name in _LEXERS.items() if path.endswith(end)), None)
    body = "".join(_coloured(lexer, plain)) if lexer else escape(plain)
    lines = zip(body.split("\n"), plain.split("\n"), strict=True)
    return [
        Html(f'<span class="l" id="L{at}">{_shown(line, said)}</span>')
        for at, (line, said) in enumerate(lines, 1)
    ]


def _shown(line: str, said: str) -> str:
    """A line of HTML, or how its text begins, and how much more there is."""
    if len(line) <= _LONGEST_LINE // 4 or len(line.encode(errors="replace")) <= _LONGEST_LINE:
        return line
    begin = cut(said, _LONGEST_LINE)
    return (
        f'{escape(begin)}<span class="faint">… ({len(said) - len(begin):,} more characters)</span>'
    )


def _coloured(lexer: str, text: str) -> Iterator[str]:
    """The beginning of `text` with the classes of its tokens, and the rest as it is."""
    require("hub", "Showing source", "pygments")
    from pygments.lexers import get_lexer_by_name
    from pygments.token import STANDARD_TYPES

    done = 0
    odd = _TOO_LONG.search(text, 0, _MOST_CHARACTERS)
    begin = text[: odd.start() if odd else _MOST_CHARACTERS]
    tokens = get_lexer_by_name(lexer, stripnl=False, ensurenl=False).get_tokens(begin)
    for kind, value in islice(tokens, _MOST_TOKENS):
        done += len(value)
        name = STANDARD_TYPES.get(kind) or STANDARD_TYPES.get(kind.parent, "")
        # Elements end with their lines.
        parts = (escape(part) for part in value.split("\n"))
        yield "\n".join(
            f'<span class="{name}">{part}</span>' if name and part else part for part in parts
        )
    yield escape(text[done:])
