"""`prime eval merge`: one run of its parts, row by row; memory does not grow with transcripts.

The run's id follows from the parts, so merging them again, in any order, gives the same bytes.
"""

import hashlib
import heapq
import shutil
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from prime_cli.core.errors import Conflict
from prime_cli.core.paths import make_folder, replacing, storage_errors, write_atomically
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.shards.parts import (
    Part,
    find_parts,
    require_one_run,
    require_own_rollouts,
    require_same_rewards,
    require_whole,
)
from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.models.prices import Charges, add_charges
from prime_cli.runs.access_requests import WithheldVariable
from prime_cli.runs.folder import RunFolder, runs_folder, writing
from prime_cli.runs.index.entries import packed
from prime_cli.runs.index.file import HEADER, ROWS, index_path, read_line
from prime_cli.runs.manifest import FINISHED, INTERRUPTED, RunManifest, save_manifest
from prime_cli.runs.plan import EvalPlan, Labels
from prime_cli.runs.receipt import close_receipt, open_receipt, read_receipt
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import open_run, summary_of
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.spending import (
    ServedModel,
    Spending,
    read_charges,
    served_models,
    write_charges,
)
from prime_cli.runs.summary import Summary
from prime_cli.runs.tally import RolloutKey, Tally
from prime_cli.runs.vf_eval_writer import official_metadata, official_row

_EVERY = 1000
"""Rollouts between two reports of progress."""


def merge_runs(
    words: Sequence[str],
    cwd: Path,
    progress: Progress,
    *,
    outputs: str | None = None,
    partial: bool = False,
) -> EvalResult:
    """Merge the parts that `words` name into a new run below `outputs`, or below `cwd`.

    Raises Conflict for parts of different runs, rollouts with two rewards or of another part, and
    while another process merges them; PartialResult for what is missing or still running, unless
    `partial`; UsageError, NotFound and StorageFailed.
    """
    parts = find_parts(words, cwd, progress)
    require_one_run(parts)
    require_own_rollouts(parts)
    require_same_rewards(parts)
    missing = require_whole(parts, partial=partial)
    if missing is not None:
        progress.warn(missing)
    plan = parts[0].plan.with_option("output_dir", outputs)
    folder = RunFolder(runs_folder(plan.environment.name, plan.model, cwd, outputs) / _id_of(parts))
    make_folder(folder.path)
    with writing(folder):
        if folder.manifest.is_file():
            progress.say("These parts are merged already")
            return EvalResult(folder, open_run(folder.path).summary(), plan)
        summary = _Merge(parts, folder, plan, missing).write(progress)
    return EvalResult(folder, summary, plan)


def _id_of(parts: Sequence[Part]) -> str:
    """The same for the same states of the same parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.shard} {part.folder.run_id} {len(part.index)}\n".encode())
        digest.update(msgspec.json.encode(part.manifest))
    return digest.hexdigest()[:8]


class _Line(NamedTuple):
    """A line of a part's journal, in the order of the merged one."""

    key: RolloutKey
    part: int
    number: int


class _Merge:
    """Writes the files of the merged run; run.json and receipt.json come last."""

    def __init__(
        self, parts: Sequence[Part], folder: RunFolder, plan: EvalPlan, missing: str | None
    ) -> None:
        self._parts = parts
        self._folder = folder
        self._plan = plan
        self._missing = missing
        self._tally = Tally()
        self._unjournaled: Charges = {}
        for part in parts:
            add_charges(self._unjournaled, read_charges(part.manifest.unjournaled))
        self._spending = Spending(plan.model, self._unjournaled)
        self._dropped = Spending(plan.model)

    def write(self, progress: Progress) -> Summary:
        """Copy all rows, then derive the rest from them."""
        manifests = [part.manifest for part in self._parts]
        planned = sum(part.manifest.planned or 0 for part in self._parts)
        with progress.task("Merging the parts", unit="rollouts") as task:
            task.update(total=planned)
            for count in self._copy_rows():
                task.advance(count)
        for part in self._parts:
            part.__dict__.pop("index", None)  # its memory is needed for the statistics
        add_charges(self._unjournaled, self._dropped.charges())
        manifest = self._manifest(manifests)
        summary = summary_of(self._folder, manifest, self._tally)
        self._copy_logs()
        self._copy_packages()
        metadata = msgspec.json.format(
            msgspec.json.encode(official_metadata(manifest.plan, summary)), indent=2
        )
        write_atomically(self._folder.metadata, metadata + b"\n", mode=0o644)
        manifest = msgspec.structs.replace(
            manifest,
            counts=summary.counts,
            reward=summary.reward,
            asked_again=summary.asked_again,
        )
        save_manifest(self._folder.manifest, manifest, Scrubber({}))
        files = (each.folder.receipt for each in self._parts)
        plans = [plan for file in files if file.is_file() for plan in read_receipt(file)[0].plans]
        open_receipt(self._folder, at=manifest.started, earlier=plans)
        close_receipt(self._folder)
        return summary

    def _copy_rows(self) -> Iterator[int]:
        """Write journal, index and results; yields how many rollouts were copied since."""
        encode = msgspec.json.Encoder().encode
        count = offset = 0
        with (
            replacing(self._folder.journal, mode=0o644) as journal,
            replacing(index_path(self._folder.journal), mode=0o644) as index,
            replacing(self._folder.results, mode=0o644) as results,
        ):
            index.write(HEADER)
            for last, rows in self._rollouts():
                for line, row in rows:
                    journal.write(line)
                    index.write(_record(offset, line, row))
                    offset += len(line)
                results.write(encode(official_row(last)) + b"\n")
                count += 1
                if count == _EVERY:
                    yield count
                    count = 0
        yield count

    def _rollouts(self) -> Iterator[tuple[Row, list[tuple[bytes, Row]]]]:
        """Each rollout in order: its last attempt, and the lines of all of them."""
        streams = (_lines(part, position) for position, part in enumerate(self._parts))
        files = _Files(self._parts)
        with files:
            for _, group in groupby(heapq.merge(*streams), key=itemgetter(0)):
                lines = list(group)
                kept: list[tuple[bytes, Row]] = []
                last: Row | None = None
                for line in lines:
                    content = files.read(line)
                    row = read_line(ROWS, content, self._parts[line.part].folder.journal, 0)
                    self._spending.add_row(row)
                    if line.part != lines[0].part:
                        self._require_same_part(line, lines[0])
                        # The same rollout of another run of this part: it was paid for.
                        self._dropped.add_row(row)
                        continue
                    kept.append((content, row))
                    self._tally.add(row)
                    last = row if last is None or row.attempt >= last.attempt else last
                if last is not None:
                    yield last, kept

    def _require_same_part(self, line: _Line, first: _Line) -> None:
        one, other = self._parts[first.part], self._parts[line.part]
        if one.shard != other.shard:
            example, rollout = line.key
            raise Conflict(
                f"Rollout {rollout} of example {example} is in {one.title} and in {other.title}",
                hint="one of them was changed: run it again",
            )

    def _manifest(self, manifests: Sequence[RunManifest]) -> RunManifest:
        first = manifests[0]
        examples = first.examples or 0
        sessions = tuple(session for each in manifests for session in each.sessions)
        return msgspec.structs.replace(
            first,
            run_id=self._folder.run_id,
            plan=self._plan,
            status=FINISHED if self._missing is None else INTERRUPTED,
            failure=self._missing,
            started=min(each.started for each in manifests),
            ended=max((each.ended for each in manifests if each.ended), default=None),
            seconds=round(sum(each.seconds or 0 for each in sessions), 3),
            planned=examples * first.plan.rollouts_per_example,
            usage=self._spending.record(),
            unjournaled=write_charges(self._unjournaled),
            connections=tuple(dict.fromkeys(c for each in manifests for c in each.connections)),
            withheld=_withheld(manifests),
            sessions=sessions,
            served=_served(manifests),
            labels=_labels(manifests),
            parts=tuple(part.folder.run_id for part in self._parts),
        )

    def _copy_logs(self) -> None:
        with replacing(self._folder.log, mode=0o644) as file:
            for part in self._parts:
                if part.folder.log.is_file():
                    file.write(f"== {part.title} ==\n".encode())
                    with storage_errors(part.folder.log), part.folder.log.open("rb") as log:
                        shutil.copyfileobj(log, file)

    def _copy_packages(self) -> None:
        for part in self._parts:
            if part.folder.packages.is_file():
                with storage_errors(part.folder.packages):
                    content = part.folder.packages.read_bytes()
                write_atomically(self._folder.packages, content, mode=0o644)
                return


def _lines(part: Part, position: int) -> Iterator[_Line]:
    entries = part.index.entries
    return (_Line(entries.key(number), position, number) for number in entries.ordered())


class _Files:
    """The open journals of the parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._open: dict[int, BinaryIO] = {}

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            file.close()

    def read(self, line: _Line) -> bytes:
        """The bytes of `line`; raises StorageFailed."""
        part = self._parts[line.part]
        entry = part.index.entries[line.number]
        with storage_errors(part.folder.journal):
            if line.part not in self._open:
                self._open[line.part] = part.folder.journal.open("rb")
            file = self._open[line.part]
            if file.tell() != entry.offset:
                file.seek(entry.offset)
            return file.read(entry.length)


def _record(offset: int, line: bytes, row: Row) -> bytes:
    kind = row.error.kind if row.error else None
    key = row.example_id, row.rollout, row.attempt
    return packed(offset, len(line), *key, row.reward, kind, row.is_truncated)


def _served(manifests: Sequence[RunManifest]) -> tuple[ServedModel, ...]:
    found: tuple[ServedModel, ...] = ()
    for each in (each for manifest in manifests for each in manifest.served):
        by = ServedBy(each.role, each.requested, each.model, each.system_fingerprint)
        found = served_models(found, {by: each.calls})
    return found


def _labels(manifests: Sequence[RunManifest]) -> Labels:
    found = Labels()
    for each in manifests:
        found = each.labels.over(found)
    return found


def _withheld(manifests: Sequence[RunManifest]) -> tuple[WithheldVariable, ...]:
    found: dict[tuple[str, str | None], WithheldVariable] = {}
    for each in (each for manifest in manifests for each in manifest.withheld):
        before = found.get((each.name, each.host))
        errors = each.errors_after + (before.errors_after if before is not None else 0)
        found[each.name, each.host] = msgspec.structs.replace(each, errors_after=errors)
    return tuple(found.values())
