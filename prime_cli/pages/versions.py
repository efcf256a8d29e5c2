"""The tab of an environment's versions, and the difference between any two of them."""

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct

from prime_cli.archive.diff.compare import Difference, FileDifference, ValueChange
from prime_cli.archive.diff.text_diff import visible
from prime_cli.pages.environment import EnvironmentHead, head_of
from prime_cli.pages.templates import Html, Page
from prime_cli.wire.environments import EnvironmentDetail, VersionItem

_MOST_CHOICES = 200
_MOST_ROWS = 100
"""Of one list in a comparison; what is beyond is counted."""
_MOST_CHARACTERS = 60_000
"""Of all diffs on a page, which then has less than 150 KB."""

_MARKS = {"+": "ins", "-": "del"}


class Changed(Struct, frozen=True, kw_only=True):
    """A file, a part of the reward code, an argument or a dependency that differs.

    `diff` has the lines of a file as HTML, empty if none are shown; `note` says what is left out.
    """

    status: str
    name: str
    before: str = ""
    after: str = ""
    counts: str = ""
    diff: Html = Html()
    note: str = ""


class ChangeList(Struct, frozen=True):
    """A list of what differs, and how many more there are."""

    title: str
    rows: list[Changed]
    left_out: int = 0


class Comparison(Struct, frozen=True, kw_only=True):
    """Two versions: `comparable` says whether their scores are, and `sentence` why."""

    comparable: str
    sentence: str
    lists: list[ChangeList]


class VersionsRecord(Struct, frozen=True, kw_only=True):
    """All versions, newest first, those to choose from, and the comparison of two.

    `before` and `after` are chosen; `comparison` is None if nothing was asked, and `is_too_large`
    if it has to be made elsewhere.
    """

    head: EnvironmentHead
    versions: Sequence[VersionItem]
    choices: list[str]
    before: str
    after: str
    comparison: Comparison | None = None
    is_too_large: bool = False


class VersionPair(Struct, frozen=True):
    """The two versions that a page compares, and what differs; None if that is too large for it."""

    before: str
    after: str
    difference: Difference | None


def versions_page(
    detail: EnvironmentDetail, versions: Sequence[VersionItem], pair: VersionPair | None = None
) -> Page:
    """The list of versions, with the comparison of `pair`."""
    head = head_of(detail, "versions")
    names = [each.version for each in versions]
    after, before = (pair.after, pair.before) if pair else (*names[:2], "", "")[:2]
    difference = pair.difference if pair else None
    record = VersionsRecord(
        head=head,
        versions=versions,
        choices=list(dict.fromkeys([*names[:_MOST_CHOICES], *filter(None, (before, after))])),
        before=before,
        after=after,
        comparison=_compare(difference) if difference else None,
        is_too_large=pair is not None and difference is None,
    )
    commands = [f"prime env versions {head.slug}"]
    if before and after:
        commands.append(f"prime env diff {head.slug}@{before} {head.slug}@{after}")
    return Page("versions.html", f"Versions of {head.slug}", record, command=tuple(commands))


# --- A comparison ---


def _compare(found: Difference) -> Comparison:
    rewards = [Changed(status=each.status, name=visible(each.name)) for each in found.rewards]
    lists = [
        _first("Reward code", rewards),
        _first("Arguments", [_value(each) for each in found.arguments]),
        _first("Dependencies", [_value(each) for each in found.dependencies]),
        _first("Files", list(_files(found.files))),
    ]
    return Comparison(
        comparable=found.verdict.comparable,
        sentence=visible(found.verdict.sentence),
        lists=[each for each in lists if each.rows],
    )


def _first(title: str, rows: list[Changed]) -> ChangeList:
    return ChangeList(title, rows[:_MOST_ROWS], max(0, len(rows) - _MOST_ROWS))


def _value(change: ValueChange) -> Changed:
    before, after = change.before, change.after
    status = "added" if before is None else "removed" if after is None else "changed"
    return Changed(
        status=status,
        name=visible(change.name),
        before=visible(before or ""),
        after=visible(after or ""),
    )


def _files(files: Sequence[FileDifference]) -> Iterator[Changed]:
    left = _MOST_CHARACTERS
    for file in files:
        lines = list(_within(file.diff, left))
        left -= sum(map(len, lines))
        cut = len(lines) < len(file.diff)
        counted = file.added is not None and file.removed is not None
        yield Changed(
            status=file.status,
            name=visible(file.path),
            counts=f"+{file.added} -{file.removed}" if counted else "",
            diff=Html("".join(map(_line, lines))),
            note=f"{len(lines)} lines of its diff are shown" if cut else file.note or "",
        )


def _within(lines: Sequence[str], characters: int) -> Iterator[str]:
    for line in lines:
        characters -= len(line)
        if characters < 0:
            return
        yield line


def _line(line: str) -> str:
    tag = _MARKS.get(line[:1], "span")
    kind = ' class="hunk"' if line.startswith("@@") else ""
    return f"<{tag}{kind}>{escape(line)}\n</{tag}>"
