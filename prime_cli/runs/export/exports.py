"""One run written in one form, by `prime eval export` or as the download of a page."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from prime_cli.core.errors import Conflict, NotFound, TooLarge, UsageError
from prime_cli.core.paths import replacing, storage_errors
from prime_cli.core.progress import Progress, Silent, Task
from prime_cli.runs.export.dataset import require_parquet, write_dataset, write_shards
from prime_cli.runs.export.page import MOST_TRANSCRIPTS, write_page
from prime_cli.runs.export.records import find_columns, write_spreadsheet
from prime_cli.runs.export.sft import Chosen, Selection, write_rows
from prime_cli.runs.export.text import facts_of
from prime_cli.runs.export.trajectories import write_trajectories
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.summary import Summary


class Format(StrEnum):
    """Forms of an export; a `hf` is a folder, and so are those of `verifiers` and `atif`.

    That of `verifiers` is written by `evals.rerun.traces`, as it needs the environment.
    """

    HTML = "html"
    CSV = "csv"
    HF = "hf"
    SFT = "sft"
    VERIFIERS = "verifiers"
    ATIF = "atif"

    @property
    def is_folder(self) -> bool:
        """Whether it is more than one file."""
        return self in (Format.HF, Format.VERIFIERS, Format.ATIF)


class Export(msgspec.Struct, frozen=True):
    """A written export. `transcripts` counts complete ones; `bytes` is the size on disk.

    With `sft` and `atif`, a `selection` says which rollouts are in it.
    """

    run_id: str
    format: Format
    path: str
    rollouts: int
    transcripts: int
    bytes: int
    selection: Selection | None = None


def format_for(out: Path | None, wanted: Format | None) -> Format:
    """The form: as requested, else by the file's extension, else a page.

    Raises UsageError for an unknown extension.
    """
    if wanted is not None or out is None:
        return wanted or Format.HTML
    endings = {
        ".html": Format.HTML,
        ".htm": Format.HTML,
        ".csv": Format.CSV,
        ".jsonl": Format.SFT,
        "": Format.HF,
    }
    if out.suffix.lower() not in endings and not out.is_dir():
        raise UsageError(
            f"`{out.name}` has an unknown suffix",
            hint="use .html, .csv or .jsonl, or add `--to hf` for a folder",
        )
    return endings.get(out.suffix.lower(), Format.HF)


def default_path(saved: SavedRun, form: Format, cwd: Path) -> Path:
    """`<environment>--<model>--<run id>` in `cwd`, with the form's ending; none for a folder."""
    ending = "" if form.is_folder else {Format.SFT: ".jsonl"}.get(form, f".{form}")
    return cwd / f"{saved.folder.path.parent.name}--{saved.folder.run_id}{ending}"


def export_run(
    saved: SavedRun,
    form: Format,
    out: Path,
    progress: Progress,
    *,
    force: bool = False,
    most_transcripts: int = MOST_TRANSCRIPTS,
    chosen: Chosen | None = None,
) -> Export:
    """Write `saved` to `out`, row by row: memory does not grow with the transcripts.

    `chosen` are the rollouts of an `sft`. Raises Conflict if `out` exists, unless `force`;
    StorageFailed, and UsageError for `hf` without its packages.
    """
    if form is Format.HF:
        require_parquet()
    check_place(out, form, force=force)
    summary = saved.summary()
    finished = summary.counts.scored + summary.counts.errored
    passes = 1 if form in (Format.HTML, Format.ATIF) else 2
    with progress.task("Exporting", total=passes * finished, unit="rollouts") as task:
        source = _Source(saved, summary, task, most_transcripts)
        selection = None
        if form in (Format.SFT, Format.ATIF):
            if form is Format.SFT:
                selection, size = _training_rows(source, out, chosen or Chosen())
            else:
                selection, size = write_trajectories(out, source.rows(), summary)
            transcripts = selection.rollouts
        else:
            transcripts, size = _WRITERS[form](source, out)
    return Export(saved.folder.run_id, form, str(out), finished, transcripts, size, selection)


class _Source:
    """A run to write, which counts its rows."""

    def __init__(self, saved: SavedRun, summary: Summary, task: Task, most: int) -> None:
        self.summary = summary
        self.facts = facts_of(saved, summary)
        self.most_transcripts = most
        self._saved = saved
        self._task = task

    def rows(self) -> Iterator[Row]:
        for row in self._saved.rows():
            yield row
            self._task.advance()


def _page(source: _Source, out: Path) -> tuple[int, int]:
    with replacing(out, mode=0o644) as file:
        most = source.most_transcripts
        kept = write_page(file, source.summary, source.facts, source.rows(), most_transcripts=most)
        return kept.transcripts, file.tell()


def _spreadsheet(source: _Source, out: Path) -> tuple[int, int]:
    columns = find_columns(source.rows())
    with replacing(out, mode=0o644) as file:
        write_spreadsheet(file, source.rows(), columns)
        return columns.rows, file.tell()


def _dataset(source: _Source, out: Path) -> tuple[int, int]:
    columns = find_columns(source.rows())
    return columns.rows, write_dataset(out, source.summary, source.facts, source.rows, columns)


def _training_rows(source: _Source, out: Path, chosen: Chosen) -> tuple[Selection, int]:
    with replacing(out, mode=0o644) as file:
        return write_rows(file, source.rows(), source.rows(), chosen), file.tell()


_WRITERS = {Format.HTML: _page, Format.CSV: _spreadsheet, Format.HF: _dataset}


def check_place(out: Path, form: Format, *, force: bool) -> None:
    """Raise Conflict if something is there, unless `force`; UsageError for the wrong kind."""
    with storage_errors(out):
        taken = any(out.iterdir()) if out.is_dir() else out.exists()
    if not form.is_folder and out.is_dir():
        raise UsageError(f"{out} is a folder", hint=f"pass a .{form} file in it")
    if taken and form.is_folder and not out.is_dir():
        raise UsageError(f"{out} is a file", hint="name a folder")
    if taken and not force:
        raise Conflict(f"{out} already exists", hint="overwrite it with `--force`")


# --- Downloads ---

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
