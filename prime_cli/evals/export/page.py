"""One HTML file of a run that opens from disk: no server, no network, nothing beside it.

What a model or an environment wrote is hostile. It is in the page as JSON alone, whose `<`, `>`
and `&` are escaped, and the script makes text of it and never markup. The Content-Security-Policy
of the page allows the one script and the one style sheet by their SHA-256 and nothing else, no
address either.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, BinaryIO

import msgspec

from prime_cli import __version__
from prime_cli.evals.export.chunks import Kept, data_elements
from prime_cli.evals.export.embedding import data_element
from prime_cli.evals.export.spent import parts_of, spent_of
from prime_cli.evals.export.texts import as_json
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import ErrorCount, Summary

MOST_TRANSCRIPTS = 20_000
_SCRIPTS = "data summary charts grid transcript list start".split()


def write_page(
    file: BinaryIO,
    summary: Summary,
    facts: Mapping[str, str],
    rows: Iterable[Row],
    *,
    most_transcripts: int = MOST_TRANSCRIPTS,
) -> Kept:
    """Write the page, row by row; `facts` are labelled texts shown with the summary.

    Transcripts are those of the first `most_transcripts` rows; scores are those of all. Says in
    the page where some were left out.
    """
    kept = Kept()
    style, script = _part("page.css"), b"".join(_part(f"{name}.js") for name in _SCRIPTS)
    file.write(_head(style, script))
    file.write(_part("page.html"))
    file.writelines(data_elements(rows, summary.metrics, kept, most=most_transcripts))
    # Last of the data: only now is it known what was left out.
    file.write(data_element("run", as_json(_run(summary, facts, kept))))
    file.write(b"<script>" + script + b"</script>\n</body>\n</html>\n")
    return kept


def _run(summary: Summary, facts: Mapping[str, str], kept: Kept) -> dict[str, Any]:
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


def notes(summary: Summary, kept: Kept) -> list[str]:
    """Sentences on what the reader of a page must know."""
    found = []
    if summary.status != "finished":
        why = f": {summary.failure}" if summary.failure else ""
        found.append(f"This run has not finished: it is {summary.status}{why}.")
    missing = summary.counts.planned - kept.rollouts
    if missing > 0:
        found.append(f"{missing} of {summary.counts.planned} planned rollouts are not in it.")
    if summary.asked_again_words:
        found.append(f"The model was asked again for {summary.asked_again_words}.")
    if kept.left_out:
        found.append(
            f"Only the first {kept.transcripts} of {kept.rollouts} transcripts are in this file; "
            "scores and errors are those of all rollouts."
        )
    return found


def _head(style: bytes, script: bytes) -> bytes:
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>An evaluation</title>\n<style>"
    ).encode() + (style + b"</style>\n</head>\n")


def _digest(content: bytes) -> str:
    """The hash source of Content Security Policy Level 2: over the element's text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def _part(name: str) -> bytes:
    # The hash is over what a browser reads, to which CRLF is one line end.
    content = (files("prime_cli.evals.export") / "page_parts" / name).read_bytes()
    return content.replace(b"\r\n", b"\n")
