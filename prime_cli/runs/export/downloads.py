"""A run as one file that a page offers: JSON lines, CSV, Parquet, or a page of its own."""

from pathlib import Path
from typing import NamedTuple

from prime_cli.core.errors import NotFound, TooLarge
from prime_cli.core.progress import Silent
from prime_cli.runs.export.dataset import require_parquet, write_shards
from prime_cli.runs.export.exports import Format, export_run
from prime_cli.runs.export.records import find_columns
from prime_cli.runs.saved_run import SavedRun

JSON_LINES = "jsonl"
PARQUET = "parquet"


class Download(NamedTuple):
    """A form of a download, as the ending of its file, and how pages name it."""

    form: str
    label: str
    media_type: str

    def headers(self, name: str) -> dict[str, str]:
        """Those of the answer with the file `name` in this form; none of it runs as a page."""
        return {
            "content-disposition": f'attachment; filename="{_plain(name)}.{self.form}"',
            "content-type": self.media_type,
            "x-content-type-options": "nosniff",
            "cache-control": "no-store",
            # Were it opened in the browser after all, it would be none of our pages.
            "content-security-policy": "sandbox; default-src 'none'",
        }


DOWNLOADS = {
    each.form: each
    for each in (
        Download(JSON_LINES, "JSON lines", "application/x-ndjson"),
        Download("csv", "CSV", "text/csv; charset=utf-8"),
        Download(PARQUET, "Parquet", "application/vnd.apache.parquet"),
        Download("html", "One page", "text/html; charset=utf-8"),
    )
}


def find_download(form: str) -> Download:
    """The form with that ending; raises NotFound."""
    found = DOWNLOADS.get(form)
    if found is None:
        hint = f"choose {', '.join(DOWNLOADS)}"
        raise NotFound(f"Runs are not downloaded as `{form[:20]}`", hint=hint)
    return found


def write_download(saved: SavedRun, form: str, folder: Path) -> Path:
    """Write the run into `folder` as CSV, Parquet or one page; returns the file.

    Raises TooLarge, and UsageError without pyarrow.
    """
    path = folder / f"run.{form}"
    if form != PARQUET:
        export_run(saved, Format(form), path, Silent())
        return path
    require_parquet()
    shards = write_shards(folder, saved.rows(), find_columns(saved.rows()))
    if len(shards) > 1:
        raise TooLarge(
            "This run is too large for one Parquet file",
            hint=f"write it as several: `prime eval export {saved.folder.run_id} --to hf`",
        )
    return shards[0]


def _plain(name: str) -> str:
    return "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in name
    )
