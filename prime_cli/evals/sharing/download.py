"""An evaluation on a hub as a run's folder, so that it can be shown, compared and rerun."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prime_cli.core.errors import Conflict, UnsafeContent
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.progress import Progress, Task
from prime_cli.core.refs import EnvRef, is_reference
from prime_cli.evals.sharing.description import PUSH_KEY
from prime_cli.evals.sharing.push_record import PushRecord, content_of, key_of, save_record
from prime_cli.evals.sharing.samples import rows_of_evaluation
from prime_cli.runs.folder import Journal, RunFolder, runs_folder
from prime_cli.runs.manifest import RunManifest, save_manifest
from prime_cli.runs.pushed_manifest import RECEIPT, manifest_of
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.vf_eval_writer import official_metadata, write_results
from prime_cli.wire.evaluations import LOGS_FEATURE, EvaluationDetail

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_UNSAFE = re.compile(r"[^\w.@+/-]")
_KEPT_AS_IT_WAS = Scrubber({})
"""Data on a hub was scrubbed when it was pushed."""


def save_evaluation(
    hub: "HubClient", evaluation_id: str, cwd: Path, progress: Progress, *, force: bool = False
) -> SavedRun:
    """Save an evaluation below `cwd`, in a folder named by its id; it appears once complete.

    A run pushed by prime becomes a folder in prime's format, with the evaluation's id as the run's;
    others become metadata.json and results.jsonl in vf-eval's format. Raises NotFound, Unreachable,
    StorageFailed, and Conflict if the folder exists, which `force` replaces.
    """
    detail = hub.evaluations.get(evaluation_id)
    if not _SAFE.fullmatch(detail.evaluation_id):
        raise UnsafeContent(f"`{detail.evaluation_id[:80]}` is not a valid folder name")
    manifest = manifest_of(detail)
    target = _place_of(detail, manifest, cwd)
    if target.exists() and not force:
        raise Conflict(
            f"{target} already exists",
            hint=f"see it with `prime eval show {target.name}`, or replace it with `--force`",
        )
    with _appearing(target) as part:
        folder = RunFolder(part)
        with progress.task(
            f"Fetching {detail.evaluation_id}", total=detail.total_samples, unit="samples"
        ) as task:
            if manifest is None:
                count = _save_official(hub, detail, folder, task)
            else:
                count = _save_own(hub, detail, manifest, folder, task)
        if LOGS_FEATURE in hub.capabilities().features:
            _save_log(hub.evaluations.logs(detail.evaluation_id), folder)
        _note_push(hub, detail, open_run(part), count)
    return open_run(target)


def _place_of(detail: EvaluationDetail, manifest: RunManifest | None, cwd: Path) -> Path:
    name = detail.environment_names[0] if detail.environment_names else "unknown"
    environment = EnvRef.parse(name).name if is_reference(name) else name
    if manifest is not None:
        environment = manifest.plan.environment.name
    model = detail.model_name or "unknown"
    return runs_folder(_UNSAFE.sub("-", environment), _UNSAFE.sub("-", model), cwd) / (
        detail.evaluation_id
    )


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """A folder beside `target` that replaces it if the block succeeds."""
    part = target.with_name(f".{target.name}.part")
    with storage_errors(part):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
    try:
        yield part
        with storage_errors(target):
            if target.exists():
                shutil.rmtree(target)
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _save_own(
    hub: "HubClient", detail: EvaluationDetail, manifest: RunManifest, folder: RunFolder, task: Task
) -> int:
    manifest = msgspec.structs.replace(manifest, run_id=detail.evaluation_id)
    save_manifest(folder.manifest, manifest, _KEPT_AS_IT_WAS)
    if RECEIPT in detail.metadata:
        _write_json(folder.pushed_receipt, detail.metadata[RECEIPT])
    count = 0
    with Journal(folder.journal, _KEPT_AS_IT_WAS) as journal:
        for row in rows_of_evaluation(hub, detail.evaluation_id):
            journal.append(row)
            count += 1
            task.advance()
    write_results(folder.journal, folder.results)
    summary = open_run(folder.path).summary()
    _write_json(folder.metadata, official_metadata(manifest.plan, summary))
    return count


def _save_official(
    hub: "HubClient", detail: EvaluationDetail, folder: RunFolder, task: Task
) -> int:
    averages = {f"avg_{name}": value for name, value in detail.metrics.items()}
    environment = detail.environment_names[0] if detail.environment_names else None
    told = {"env_id": environment, "model": detail.model_name, "date": detail.created_at}
    _write_json(folder.metadata, told | averages | detail.metadata)
    count = 0
    with storage_errors(folder.results), folder.results.open("wb") as file:
        for sample in hub.evaluations.all_samples(detail.evaluation_id):
            # A sample is kept as it was pushed, and may be JSON of several lines.
            file.write(msgspec.json.format(sample, indent=-1) + b"\n")
            count += 1
            task.advance()
    return count


def _write_json(path: Path, value: object) -> None:
    content = msgspec.json.format(msgspec.json.encode(value), indent=2)
    write_atomically(path, content + b"\n", mode=0o644)


def _save_log(text: str, folder: RunFolder) -> None:
    if text:
        write_atomically(folder.log, text.encode("utf-8", "replace"), mode=0o644)


def _note_push(hub: "HubClient", detail: EvaluationDetail, run: SavedRun, count: int) -> None:
    """Let a push of this folder go to the evaluation that it came from."""
    record = PushRecord(
        hub=hub.base_url,
        key=str(detail.metadata.get(PUSH_KEY) or key_of(run, anew=True)),
        content=content_of(run),
        evaluation_id=detail.evaluation_id,
        viewer_url=detail.viewer_url,
        accepted=count,
        finished=True,
    )
    save_record(run.folder.path, record)
