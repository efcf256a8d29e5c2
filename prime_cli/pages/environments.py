"""The pages of environments: the list with its search, and one environment."""

import shlex
from collections.abc import Sequence
from html import escape

from msgspec import Struct

from prime_cli.pages import links
from prime_cli.pages.templates import Html, Page
from prime_cli.wire.check_reports import Check, CheckReport, in_words, summarize
from prime_cli.wire.environments import (
    EnvironmentDetail,
    EnvironmentPage,
    InspectEntry,
    Inspection,
    VersionItem,
)
from prime_cli.wire.evaluations import EvaluationHistory

# --- The list of environments ---


class CatalogueRecord(Struct, frozen=True):
    """A page of the list, and the address of the next one, if any."""

    found: EnvironmentPage
    search: str
    next: str | None


def catalogue_page(found: EnvironmentPage, search: str) -> Page:
    """A page of the list, newest first; `search` is the text that was searched for."""
    cursor = found.next_cursor
    following = links.catalogue_path(search=search, cursor=cursor) if cursor else None
    return Page("catalogue.html", "Environments", CatalogueRecord(found, search, following))


# --- One environment ---


class CheckFindings(Struct, frozen=True):
    """The result of the publisher's check: counts, then the checks that did not pass."""

    words: str
    date: str
    rows: list[Check]


class EnvironmentRecord(Struct, frozen=True, kw_only=True):
    """The newest version of an environment, and its evaluations."""

    slug: str
    detail: EnvironmentDetail
    versions: Sequence[VersionItem]
    files: Sequence[InspectEntry]
    files_at: str
    readme: Html
    history: EvaluationHistory
    check: CheckFindings | None
    usage: list[str]


def environment_page(
    detail: EnvironmentDetail,
    versions: Sequence[VersionItem],
    files: Sequence[InspectEntry],
    readme: str,
    history: EvaluationHistory,
    report: CheckReport | None = None,
) -> Page:
    """The latest version and its evaluations; `readme` is safe HTML, or empty."""
    slug = f"{detail.owner.name}/{detail.name}"
    record = EnvironmentRecord(
        slug=slug,
        detail=detail,
        versions=versions,
        files=files,
        files_at=links.files_path(slug, detail.semantic_version or ""),
        readme=Html(readme),
        history=history,
        check=_findings(report) if report else None,
        usage=_commands(slug, detail),
    )
    return Page("environment.html", slug, record, command=(f"prime env info {slug}",))


def _findings(report: CheckReport) -> CheckFindings:
    rows = [check for check in report.checks if check.status != "pass"]
    return CheckFindings(in_words(summarize(report)), report.date, rows)


def _commands(slug: str, detail: EnvironmentDetail) -> list[str]:
    lines = [f"prime env install {slug}", f"prime eval run {slug} -m MODEL"]
    if detail.simple_index_url:
        index = f"--index {detail.simple_index_url}"
        lines.append(f"uv pip install {index} {detail.name}=={detail.semantic_version}")
    if detail.wheel_sha256:
        lines.append(
            f"prime env install {slug}@{detail.semantic_version}#sha256={detail.wheel_sha256}"
        )
    return lines


# --- A file ---


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file of a version as its text, or the entries of a folder."""

    slug: str
    version: str
    found: Inspection
    files_at: str
    is_text: bool


def file_page(detail: EnvironmentDetail, found: Inspection) -> Page:
    """The page of a file or folder."""
    slug, version = f"{detail.owner.name}/{detail.name}", detail.semantic_version or ""
    record = FileRecord(
        slug=slug,
        version=version,
        found=found,
        files_at=links.files_path(slug, version),
        is_text="\0" not in (found.content or ""),
    )
    # A file's name is its publisher's, and the line is there to be pasted into a shell.
    command = shlex.join(
        ["prime", "env", "inspect", f"{slug}@{version}", *filter(None, [found.path])]
    )
    return Page("file.html", found.path or slug, record, command=(command,))


_LONGEST_TEXT = 64 * 1024


def render_plain(source: str) -> str:
    """A README that cannot be rendered, as its text."""
    return (
        '<p class="faint">This README is too large or too deeply nested to be rendered; '
        f"this is its text.</p>\n<pre>{escape(source[:_LONGEST_TEXT])}</pre>"
    )
