"""Data inside an HTML page, escaped so that it cannot end its element or begin another."""

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any, BinaryIO

import msgspec

from prime_cli import __version__
from prime_cli.runs.export.text import as_json, parts_of, spent_of
from prime_cli.runs.rows import Row, numeric
from prime_cli.runs.summary import ErrorCount, Summary

_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    # Line ends in scripts of before 2019.
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def data_element(name: str, content: bytes, *, many: bool = False) -> bytes:
    """A `<script type="application/json">` that holds the JSON `content`.

    `name` is its id, or its class if there are `many`. Browsers never run a script of this type; in
    JSON the escaped characters mean the same.
    """
    escaped = content.decode().translate(_ESCAPES).encode()
    mark = f'{"class" if many else "id"}="{name}"'.encode()
    return b'<script type="application/json" ' + mark + b">" + escaped + b"</script>\n"


def pack(lines: list[bytes]) -> bytes:
    """JSON lines as a JSON string: base64 of zlib's format (RFC 1950), one line after another."""
    return b'"' + base64.b64encode(zlib.compress(b"\n".join(lines))) + b'"'


ROWS_IN_A_CHUNK = 64
BYTES_IN_A_CHUNK = 1 << 20
STAGES = ("boot", "setup", "agent", "finalize", "scoring")
"""The stages of a rollout that verifiers v1 times, in order."""

MOST_PACKED = 256 << 20
"""Bytes of packed transcripts in one page; browsers are slow with much larger ones."""


@dataclass
class EmbeddedRows:
    """How many rollouts a page holds, and how many of them with transcripts."""

    rollouts: int = 0
    transcripts: int = 0

    @property
    def left_out(self) -> int:
        return self.rollouts - self.transcripts


def data_elements(
    rows: Iterable[Row], metrics: Iterable[str], kept: EmbeddedRows, *, most: int
) -> Iterator[bytes]:
    """The elements of a page with `rows`, the first `most` of them with transcripts.

    Also stops adding transcripts after MOST_PACKED bytes. Counts in `kept`.
    """
    names = list(metrics)
    packed = 0
    for bundle in _bundles(rows, most):
        yield data_element("index", as_json(index_of(bundle.rows, names)), many=True)
        content = b"null"
        if bundle.lines and packed < MOST_PACKED:
            content = pack(bundle.lines)
            packed += len(content)
            kept.transcripts += len(bundle.lines)
        kept.rollouts += len(bundle.rows)
        yield data_element("transcripts", content, many=True)


@dataclass
class _Bundle:
    """Rows, and their JSON if transcripts are kept."""

    rows: list[Row] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, row: Row, *, whole: bool) -> None:
        self.rows.append(row)
        if whole:
            self.lines.append(as_json(row))
            self.size += len(self.lines[-1])

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= ROWS_IN_A_CHUNK or self.size >= BYTES_IN_A_CHUNK


def _bundles(rows: Iterable[Row], most: int) -> Iterator[_Bundle]:
    bundle = _Bundle()
    for position, row in enumerate(rows, 1):
        bundle.add(row, whole=position <= most)
        if bundle.is_full or position == most:
            yield bundle
            bundle = _Bundle()
    if bundle.rows:
        yield bundle


def index_of(rows: list[Row], metrics: list[str]) -> dict[str, Any]:
    """The columns that the page filters and plots; `output` is in tokens, `seconds` the total."""
    numbers = [numeric(row.metrics) for row in rows]
    return {
        "example": [row.example_id for row in rows],
        "rollout": [row.rollout for row in rows],
        "reward": [row.reward for row in rows],
        "kind": [row.error and row.error.kind for row in rows],
        "error": [row.error and row.error.type for row in rows],
        "truncated": [row.is_truncated for row in rows],
        "stop": [row.stop_condition for row in rows],
        "output": [_number((row.usage or {}).get("output")) for row in rows],
        "seconds": [seconds_of(row.timing) for row in rows],
        "metrics": {name: [of.get(name) for of in numbers] for name in metrics},
    }


def seconds_of(timing: dict[str, Any]) -> float | None:
    """The seconds of a rollout: its total (v0), else the sum of its stages (v1)."""
    if "total" in timing:
        return _number(timing["total"])
    stages = [timing[name] for name in STAGES if _number(timing.get(name)) is not None]
    return sum(stages) if stages else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


MOST_TRANSCRIPTS = 20_000
_SCRIPTS = "data summary charts grid transcript list start".split()


def write_page(
    file: BinaryIO,
    summary: Summary,
    facts: Mapping[str, str],
    rows: Iterable[Row],
    *,
    most_transcripts: int = MOST_TRANSCRIPTS,
) -> EmbeddedRows:
    """Write the page, row by row; `facts` are labelled texts shown with the summary.

    Transcripts are those of the first `most_transcripts` rows; scores are those of all. The page
    says if some are omitted.
    """
    kept = EmbeddedRows()
    style, script = page_part("page.css"), b"".join(page_part(f"{name}.js") for name in _SCRIPTS)
    file.write(page_head("An evaluation", style, script))
    file.write(page_part("page.html"))
    file.writelines(data_elements(rows, summary.metrics, kept, most=most_transcripts))
    # Last of the data: only now is it known what was left out.
    file.write(data_element("run", as_json(_run(summary, facts, kept))))
    file.write(b"<script>" + script + b"</script>\n</body>\n</html>\n")
    return kept


def _run(summary: Summary, facts: Mapping[str, str], kept: EmbeddedRows) -> dict[str, Any]:
    return {
        # Rewards are in the index; where the run lies is nobody's business to whom a page is sent.
        "summary": msgspec.structs.replace(summary, rollouts={}, path="", errors=_brief(summary)),
        "facts": [*facts.items(), ("Exported by", f"prime {__version__}")],
        "spent": spent_of(summary.usage),
        "parts": parts_of(summary.usage),
        "notes": notes(summary, kept),
    }


def _brief(summary: Summary) -> list[ErrorCount]:
    """Without tracebacks, which are in the transcripts."""
    return [msgspec.structs.replace(error, traceback=None) for error in summary.errors]


def notes(summary: Summary, kept: EmbeddedRows) -> list[str]:
    """Notes for readers of a page."""
    found = []
    if summary.status != "finished":
        why = f": {summary.failure}" if summary.failure else ""
        found.append(f"This run has not finished: it is {summary.status}{why}.")
    missing = summary.counts.planned - kept.rollouts
    if missing > 0:
        found.append(f"{missing:,} of {summary.counts.planned:,} planned rollouts are missing.")
    if summary.asked_again_words:
        found.append(f"The model was asked again for {summary.asked_again_words}.")
    if kept.left_out:
        found.append(
            f"Only the first {kept.transcripts:,} of {kept.rollouts:,} transcripts are in this "
            "file; scores and errors are those of all rollouts."
        )
    return found


def page_head(title: str, style: bytes, script: bytes = b"") -> bytes:
    """The head of a one-file page, which may use this style and run this script, and no other."""
    allowed = f"script-src '{_digest(script)}'; " if script else ""
    policy = (
        f"default-src 'none'; {allowed}style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>"
    ).encode() + (style + b"</style>\n</head>\n")


def _digest(content: bytes) -> str:
    """The hash source of Content Security Policy Level 2: over the element's text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def page_part(name: str) -> bytes:
    """A file of the page."""
    # The hash is over what a browser reads, to which CRLF is one line end.
    content = (files("prime_cli.runs.export") / "page_parts" / name).read_bytes()
    return content.replace(b"\r\n", b"\n")
