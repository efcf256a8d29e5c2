"""The pages of one environment: tabs with addresses of their own, below a head that all share."""

import shlex
from html import escape
from typing import NamedTuple

from msgspec import Struct

from prime_cli.archive.arguments import LoadArgument
from prime_cli.pages import links
from prime_cli.pages.source import highlight
from prime_cli.pages.templates import Html, Page
from prime_cli.wire.check_reports import Check, CheckReport, in_words, summarize
from prime_cli.wire.environment_sources import Inspection
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.locks import Lock, Signatures

# --- The head ---


class Tab(NamedTuple):
    """A page of an environment, and where it is."""

    name: str
    label: str
    path: str


class EnvironmentHead(Struct, frozen=True):
    """What every page of an environment begins with."""

    slug: str
    detail: EnvironmentDetail
    tabs: list[Tab]
    here: str
    check: str | None

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
    tabs = [
        Tab("readme", "README", links.environment_path(slug, "", at)),
        Tab("files", "Files", links.files_path(slug, version)),
        Tab("versions", "Versions", links.environment_path(slug, "versions")),
        Tab("evaluations", "Evaluations", links.environment_path(slug, "evaluations")),
        Tab("details", "Details", links.environment_path(slug, "details", at)),
    ]
    summary = detail.check_summary
    return EnvironmentHead(slug, detail, tabs, here, in_words(summary) if summary else None)


# --- README, and how to use it ---


class UseCommand(NamedTuple):
    """How one tool uses the environment."""

    tool: str
    lines: str


class ReadmeRecord(Struct, frozen=True):
    """The README as safe HTML, empty without one, and the commands of each tool."""

    head: EnvironmentHead
    readme: Html
    uses: list[UseCommand]


def readme_page(detail: EnvironmentDetail, readme: str) -> Page:
    """The first page of an environment; `readme` is safe HTML, or empty."""
    head = head_of(detail, "readme")
    record = ReadmeRecord(head, Html(readme), _uses(head))
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
    found += [
        UseCommand("pyproject.toml", f'dependencies = ["{requirement}"]'),
        UseCommand(
            "verifiers", f'import verifiers as vf\n\nenv = vf.load_environment("{detail.name}")'
        ),
        UseCommand("TRL", f"prime train {slug} -m MODEL"),
        UseCommand("prime-rl", f"prime train {slug} -m MODEL --engine prime-rl"),
    ]
    if detail.wheel_sha256:
        pinned = f"prime env install {slug}@{version}#sha256={detail.wheel_sha256}"
        found.append(UseCommand("prime, pinned to these bytes", pinned))
    return found


_LONGEST_TEXT = 64 * 1024


def render_plain(source: str) -> str:
    """A README that cannot be rendered, as its text."""
    return (
        '<p class="faint">This README is too large or too deeply nested to be rendered; '
        f"this is its text.</p>\n<pre>{escape(source[:_LONGEST_TEXT])}</pre>"
    )


# --- Files ---


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file of a version with its lines, or the entries of a folder."""

    head: EnvironmentHead
    found: Inspection
    files_at: str
    folders: list[Tab]
    code: Html | None


def file_page(detail: EnvironmentDetail, found: Inspection) -> Page:
    """The page of a file or folder."""
    head = head_of(detail, "files")
    at = links.files_path(head.slug, head.version)
    content = found.content or ""
    record = FileRecord(
        head=head,
        found=found,
        files_at=at,
        folders=_folders(at, found.path),
        code=None if "\0" in content else highlight(found.path, content),
    )
    # A file's name is its publisher's, and the line is there to be pasted into a shell.
    path = (found.path,) if found.path else ()
    command = shlex.join(("prime", "env", "inspect", f"{head.slug}@{head.version}", *path))
    title = f"{found.path} of {head.slug}" if found.path else f"Files of {head.slug}"
    return Page("file.html", title, record, command=(command,))


def _folders(at: str, path: str) -> list[Tab]:
    """The folders that a path is in, from the outside."""
    parts = path.split("/")[:-1]
    inner = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return [Tab(each, each.rpartition("/")[2], links.file_path(at, each)) for each in inner]


# --- Details ---


class SourceFacts(Struct, frozen=True):
    """What the source says: `arguments` None where they cannot be read.

    `variables` and `hosts` are what it reads and names, which may be more than it uses.
    """

    generation: str | None
    arguments: tuple[LoadArgument, ...] | None
    variables: tuple[str, ...]
    hosts: tuple[str, ...]


class CheckFindings(Struct, frozen=True):
    """The result of the publisher's check: counts, then the checks that did not pass."""

    words: str
    date: str
    rows: list[Check]


class DetailsRecord(Struct, frozen=True, kw_only=True):
    """What is known of a version beyond its text; None for what it was published without.

    `source` is None too if it is too large to be read for a page.
    """

    head: EnvironmentHead
    source: SourceFacts | None
    lock: Lock | None
    check: CheckFindings | None
    signatures: Signatures | None


def details_page(
    detail: EnvironmentDetail,
    source: SourceFacts | None,
    lock: Lock | None,
    report: CheckReport | None,
    signatures: Signatures | None,
) -> Page:
    """Arguments, variables, requirements, lock, check report and signatures."""
    head = head_of(detail, "details")
    record = DetailsRecord(
        head=head,
        source=source,
        lock=lock,
        check=_findings(report) if report else None,
        signatures=signatures,
    )
    commands = (f"prime env info {head.slug}@{head.version}", f"prime env verify {head.slug}")
    return Page("details.html", f"Details of {head.slug}", record, command=commands)


def _findings(report: CheckReport) -> CheckFindings:
    rows = [check for check in report.checks if check.status != "pass"]
    return CheckFindings(in_words(summarize(report)), report.date, rows)
