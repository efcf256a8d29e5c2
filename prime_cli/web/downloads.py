"""A local run as a file: JSON lines, CSV, Parquet, or one page."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from starlette.responses import Response, StreamingResponse

from prime_cli.runs.export.downloads import JSON_LINES, find_download, write_download
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.vf_eval_writer import official_row

_CHUNK = 1 << 16
_ENCODER = msgspec.json.Encoder()


def download(saved: SavedRun, form: str) -> Response:
    """The run in a form, as an attachment; raises as `find_download` and `write_download` do."""
    headers = find_download(form).headers(saved.folder.run_id)
    if form == JSON_LINES:
        return StreamingResponse(_lines(saved), headers=headers)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prime-download-"))
        path = write_download(saved, form, Path(folder))
        chunks = _chunks(path, stack.pop_all())
    return StreamingResponse(chunks, headers=headers)


def _chunks(path: Path, folder: ExitStack) -> Iterator[bytes]:
    """The bytes of a file, whose folder is then removed: Windows removes no file that is open."""
    with folder, path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _lines(saved: SavedRun) -> Iterator[bytes]:
    for row in saved.rows():
        yield _ENCODER.encode(official_row(row)) + b"\n"
