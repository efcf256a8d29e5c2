"""A run as a file: JSON lines, CSV, Parquet, or one page."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from starlette.responses import Response, StreamingResponse

from prime_cli.core.errors import NotFound
from prime_cli.core.installation import require
from prime_cli.core.progress import Silent
from prime_cli.evals.export.dataset import write_shards
from prime_cli.evals.export.exports import Format, export_run
from prime_cli.evals.export.records import find_columns
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.vf_eval_writer import official_row

_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html",
}
_CHUNK = 1 << 16
_ENCODER = msgspec.json.Encoder()


def download(saved: SavedRun, form: str) -> Response:
    """The run in a form, as an attachment; raises NotFound, UsageError without pyarrow."""
    if form not in _TYPES:
        raise NotFound(f"Runs are not downloaded as `{form}`", hint=f"choose {', '.join(_TYPES)}")
    name = f"{saved.folder.run_id}.{form}"
    headers = {
        "content-disposition": f'attachment; filename="{_plain(name)}"',
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        # Were it opened in the browser after all, it would be none of our pages.
        "content-security-policy": "sandbox; default-src 'none'",
    }
    if form == "jsonl":
        return StreamingResponse(_lines(saved), headers=headers, media_type=_TYPES[form])
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prime-download-"))
        path = _write(saved, form, Path(folder))
        chunks = _chunks(path, stack.pop_all())
    return StreamingResponse(chunks, headers=headers, media_type=_TYPES[form])


def _chunks(path: Path, folder: ExitStack) -> Iterator[bytes]:
    """The bytes of a file, whose folder is then removed: Windows removes no file that is open."""
    with folder, path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _lines(saved: SavedRun) -> Iterator[bytes]:
    for row in saved.rows():
        yield _ENCODER.encode(official_row(row)) + b"\n"


def _write(saved: SavedRun, form: str, folder: Path) -> Path:
    path = folder / f"run.{form}"
    if form != "parquet":
        export_run(saved, Format(form), path, Silent())
        return path
    require("hf", "Writing Parquet", "pyarrow")
    columns = find_columns(saved.rows())
    shards = write_shards(folder, saved.rows(), columns)
    if len(shards) > 1:
        raise NotFound(
            "This run is too large for one Parquet file",
            hint=f"write it as several: `prime eval export {saved.folder.run_id} --to hf`",
        )
    return shards[0]


def _plain(name: str) -> str:
    return "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in name
    )
