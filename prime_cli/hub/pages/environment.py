"""The page of one environment."""

from collections.abc import Sequence
from html import escape

from starlette.responses import Response

from prime_cli.hub.pages.elements import Cell, day, link, number, section, table, text
from prime_cli.hub.pages.frame import page
from prime_cli.hub.pages.markup import render_markdown
from prime_cli.wire.check_reports import CheckReport, in_words, summarize
from prime_cli.wire.environments import EnvironmentDetail, InspectEntry, VersionItem
from prime_cli.wire.evaluations import EvaluationHistory


def show_environment(
    detail: EnvironmentDetail,
    versions: Sequence[VersionItem],
    files: Sequence[InspectEntry],
    readme: str,
    history: EvaluationHistory,
    report: CheckReport | None = None,
) -> Response:
    """Everything about the newest version, and what it was evaluated with."""
    slug = f"{detail.owner.name}/{detail.name}"
    tags = ", ".join(detail.metadata.tags)
    body = (
        f"<p>{escape(detail.metadata.description)}</p>\n"
        f'<p class="faint">Version {escape(detail.semantic_version or "")}'
        f"{' · ' + escape(tags) if tags else ''} · {detail.stars or 0} stars</p>\n"
        + section("Use it", _commands(slug, detail))
        + section("Check", _check(report))
        + section("Evaluations", _evaluations(history))
        + section("Read me", _readme(readme))
        + section("Versions", _versions(versions))
        + section("Files", _files(files))
    )
    return page(slug, body, wide=True)


def _readme(source: str) -> str:
    if not source:
        return '<p class="faint">There is none.</p>'
    return f'<div class="readme">{render_markdown(source)}</div>'


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
    """What the publisher's check found: the counts, then what did not pass."""
    if report is None:
        return '<p class="faint">It was published without one.</p>'
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
            Cell(link(f"/dashboard/evaluations/{point.evaluation_id}", point.name)),
            text(point.model_name),
            text(point.version),
            number(point.samples),
            number(point.mean_reward),
            day(point.finished_at),
        )
        for point in history.evaluations
    ]
    heads = ("Evaluation", "Model", "Version", "Samples", "Mean reward", "Finished")
    return table(heads, rows, "There is none that everybody may see.")


def _versions(versions: Sequence[VersionItem]) -> str:
    rows = [(text(row.version), day(row.created_at), text(row.sha256[:12])) for row in versions]
    return table(("Version", "Published", "Content"), rows, "There is none.")


def _files(files: Sequence[InspectEntry]) -> str:
    rows = [(text(entry.path), number(entry.size)) for entry in files if not entry.is_directory]
    return table(("File", "Bytes"), rows, "There is none.")
