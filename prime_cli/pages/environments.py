"""The pages of environments: the list with its search, and one environment."""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote, urlencode

from prime_cli.pages.html import (
    HtmlPage,
    TableCell,
    day,
    environment_link,
    files_path,
    link,
    number,
    section,
    table,
    text,
)
from prime_cli.wire.check_reports import CheckReport, in_words, summarize
from prime_cli.wire.environments import (
    EnvironmentDetail,
    EnvironmentPage,
    InspectEntry,
    Inspection,
    VersionItem,
)
from prime_cli.wire.evaluations import EvaluationHistory

# --- The list of environments ---


def render_environments(found: EnvironmentPage, search: str) -> HtmlPage:
    """A page of the list, newest first; `search` is the text that was searched for."""
    form = (
        '<form method="get"><label for="search">Search name, owner, description and tags</label>'
        f'<input id="search" name="search" value="{escape(search, quote=True)}" maxlength="200">'
        "<button>Search</button></form>\n"
    )
    rows = [
        (
            TableCell(environment_link(f"{item.owner.name}/{item.name}")),
            text(item.latest_version),
            text(item.description),
            text(", ".join(item.tags)),
            number(item.stars),
            day(item.updated_at),
        )
        for item in found.data
    ]
    heads = ("Environment", "Version", "Description", "Tags", "Stars", "Updated")
    empty = "No public environments found."
    body = form + table(heads, rows, empty) + _next(found, search)
    return HtmlPage("Environments", body, wide=True)


def _next(found: EnvironmentPage, search: str) -> str:
    if not found.next_cursor:
        return ""
    query = urlencode({"search": search, "cursor": found.next_cursor})
    return f'<p><a href="/?{escape(query, quote=True)}">Next page</a></p>\n'


# --- One environment ---


def render_environment(
    detail: EnvironmentDetail,
    versions: Sequence[VersionItem],
    files: Sequence[InspectEntry],
    readme: str,
    history: EvaluationHistory,
    report: CheckReport | None = None,
) -> HtmlPage:
    """The latest version and its evaluations; `readme` is safe HTML, or empty."""
    slug = f"{detail.owner.name}/{detail.name}"
    tags = ", ".join(detail.metadata.tags)
    body = (
        f"<p>{escape(detail.metadata.description)}</p>\n"
        f'<p class="faint">Version {escape(detail.semantic_version or "")}'
        f"{' · ' + escape(tags) if tags else ''} · {detail.stars or 0} stars</p>\n"
        + section("Usage", _commands(slug, detail))
        + section("Check", _check(report))
        + section("Evaluations", _evaluations(history))
        + section("README", _readme(readme))
        + section("Versions", _versions(versions))
        + section("Files", _files(slug, detail.semantic_version or "", files))
    )
    return HtmlPage(slug, body, wide=True)


def render_file(detail: EnvironmentDetail, found: Inspection) -> HtmlPage:
    """A file of a version as its text, or the entries of a folder."""
    slug, version = f"{detail.owner.name}/{detail.name}", detail.semantic_version or ""
    body = f"<p>{environment_link(slug)} {escape(version)}</p>\n"
    if found.entries is not None:
        body += _files(slug, version, found.entries)
    elif "\0" in (found.content or ""):
        pull = f"prime env pull {slug}@{version}"
        body += f'<p class="faint">This file is no text. To get it:</p>\n<pre>{escape(pull)}</pre>'
    else:
        body += f"<pre>{escape(found.content or '')}</pre>"
    if found.truncated:
        body += f'<p class="faint">This is the beginning of {found.total_bytes} bytes.</p>'
    return HtmlPage(found.path or slug, body, wide=True)


def _readme(html: str) -> str:
    if not html:
        return '<p class="faint">No README.</p>'
    return f'<div class="readme">{html}</div>'


_LONGEST_TEXT = 64 * 1024


def render_plain(source: str) -> str:
    """A README that cannot be rendered, as its text."""
    return (
        '<p class="faint">This README is too large or too deeply nested to be rendered; '
        f"this is its text.</p>\n<pre>{escape(source[:_LONGEST_TEXT])}</pre>"
    )


def _commands(slug: str, detail: EnvironmentDetail) -> str:
    lines = [f"prime env install {slug}", f"prime eval run {slug} -m MODEL"]
    if detail.simple_index_url:
        index = f"--index {detail.simple_index_url}"
        lines.append(f"uv pip install {index} {detail.name}=={detail.semantic_version}")
    if detail.wheel_sha256:
        lines.append(
            f"prime env install {slug}@{detail.semantic_version}#sha256={detail.wheel_sha256}"
        )
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _check(report: CheckReport | None) -> str:
    """The result of the publisher's check: counts, then the checks that did not pass."""
    if report is None:
        return '<p class="faint">Published without a check report.</p>'
    found = summarize(report)
    rows = [
        (text(check.id), text(check.status), text(check.sentence))
        for check in report.checks
        if check.status != "pass"
    ]
    counts = f"<p>check: {escape(in_words(found))}</p>\n"
    date = f'<p class="faint">Checked by its publisher on {escape(report.date[:10])}</p>\n'
    return counts + date + (table(("Check", "Status", "Found"), rows, "") if rows else "")


def _evaluations(history: EvaluationHistory) -> str:
    rows = [
        (
            TableCell(link(f"/dashboard/evaluations/{point.evaluation_id}", point.name)),
            text(point.model_name),
            text(point.version),
            number(point.samples),
            number(point.mean_reward),
            day(point.finished_at),
        )
        for point in history.evaluations
    ]
    heads = ("Evaluation", "Model", "Version", "Samples", "Mean reward", "Finished")
    return table(heads, rows, "No public evaluations.")


def _versions(versions: Sequence[VersionItem]) -> str:
    rows = [(text(row.version), day(row.created_at), text(row.sha256[:12])) for row in versions]
    return table(("Version", "Published", "Content"), rows, "No versions.")


def _files(slug: str, version: str, files: Sequence[InspectEntry]) -> str:
    at = files_path(slug, version)
    rows = [
        (
            TableCell(link(at + quote(entry.path), entry.path + "/" * entry.is_directory)),
            number(None if entry.is_directory else entry.size),
        )
        for entry in files
    ]
    return table(("File", "Bytes"), rows, "No files.")
