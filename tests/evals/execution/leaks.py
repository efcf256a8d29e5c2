"""All that leaves a run's folder, as bytes that can be searched for a key."""

import base64
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from prime_cli.core.progress import Silent
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.gate.reports import write_junit
from prime_cli.evals.sharing.samples import sample_of
from prime_cli.runs.export.exports import Format, export_run
from prime_cli.runs.saved_run import open_run
from prime_cli.terminal.text import as_json

_PACKED = re.compile(rb'"(eJ[A-Za-z0-9+/=]{20,})"')
"""zlib's format as base64, in which a page keeps transcripts."""


def exports_of(result: EvalResult, folder: Path) -> dict[str, bytes]:
    """Exports, reports and samples of a run, written below `folder`, by what they are."""
    folder.mkdir()
    run = open_run(result.folder.path)
    for form in (Format.HTML, Format.CSV):
        export_run(run, form, folder / f"run.{form}", Silent())
    write_junit(folder / "junit.xml", result.summary, run.rows(), (), fail_under=None)
    samples = [sample_of(row) for row in run.rows()]
    written = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written |= {"samples": as_json(samples).encode(), "summary": as_json(result.summary).encode()}
    return written | dict(_unpacked(written))


def _unpacked(written: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for name, content in written.items():
        for number, found in enumerate(_PACKED.findall(content)):
            yield f"{name} chunk {number}", zlib.decompress(base64.b64decode(found))


def leaks_of(key: bytes, files: dict[str, bytes]) -> list[str]:
    """The names of those that hold `key`."""
    return [name for name, content in files.items() if key in content]
