"""receipt.json: what a run was made of, as digests that can be computed again from its files."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.digests import digest_bytes, digest_file
from prime_cli.core.errors import UsageError
from prime_cli.core.paths import open_regular, storage_errors, write_atomically
from prime_cli.core.ssh_signatures import RECEIPT_TYPE, encode_statement
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.index.entries import IndexEntries
from prime_cli.runs.index.file import scan_rest
from prime_cli.runs.manifest import RUNNING, RunManifest
from prime_cli.runs.plan import RunChange
from prime_cli.runs.run_index import JournalIndex, RunIndex, index_journal
from prime_cli.runs.spending import ServedModel
from prime_cli.wire.locks import Signature

RECEIPT = "receipt.json"
RECEIPT_SCHEMA = 1
"""Raised by any change of the fields, since a receipt is compared byte by byte."""

_MOVED = ("path", "ref")
"""Where an environment was found; a push changes it, and the wheel's digest says what it was."""


class PlanRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The SHA-256 of a session's plan, written before its first model call.

    `at` is when the session started. `concurrency` and `max_cost` are as planned: only these may
    be changed while a run goes on.
    """

    run_id: str
    at: str
    sha256: str
    concurrency: int
    max_cost: float | None = None


class ListedFile(msgspec.Struct, frozen=True):
    """A file of the run; `size` is in bytes."""

    sha256: str
    size: int


class ScoresDigest(msgspec.Struct, frozen=True):
    """How many rollouts ended, and `digest_scores` of them."""

    rollouts: int
    sha256: str


class ReceiptVersions(msgspec.Struct, frozen=True):
    """What ran it: each release of prime that worked on it, and the environment's interpreter."""

    prime: tuple[str, ...]
    system: str
    python: str | None = None
    verifiers: str | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """One run. While it goes on, only its plans are known, and it lists no `files`.

    `lock_digest` is that of the packages, `fingerprint` that of the examples; `served` is what the
    model's servers said of themselves, `changes` what was changed under way. `sha256` is the digest
    of all other fields but `signatures`, which sign it.
    """

    schema: int = RECEIPT_SCHEMA
    run_id: str
    status: str = RUNNING
    environment: str
    wheel_sha256: str
    lock_digest: str | None = None
    fingerprint: str | None = None
    model: str
    endpoint: str
    served: tuple[ServedModel, ...] = ()
    sampling: dict[str, Any]
    plans: tuple[PlanRecord, ...]
    changes: tuple[RunChange, ...] = ()
    planned: int | None = None
    scores: ScoresDigest | None = None
    files: dict[str, ListedFile] = {}
    versions: ReceiptVersions
    sha256: str = ""
    signatures: tuple[Signature, ...] = ()


def digest_receipt(receipt: Receipt) -> str:
    """The SHA-256 of its canonical JSON, without its own digest and its signatures."""
    bare = msgspec.structs.replace(receipt, sha256="", signatures=())
    return digest_bytes(msgspec.json.encode(bare, order="sorted"))


def receipt_statement(receipt: Receipt) -> bytes:
    """What its signatures sign: that `sha256` is the digest in the receipt of that run."""
    return encode_statement(RECEIPT_TYPE, {"run": receipt.run_id}, RECEIPT, receipt.sha256)


def digest_plan(plan: Mapping[str, Any], record: PlanRecord) -> str:
    """The SHA-256 of a plan as run.json has it, wherever its environment was found.

    With what `eval ctl` may have changed since as `record` has it. Nulls are left out, as in the
    answers of a hub.
    """
    environment = {name: v for name, v in plan["environment"].items() if name not in _MOVED}
    as_planned = {"concurrency": record.concurrency, "max_cost": record.max_cost}
    content = {**plan, **as_planned, "environment": environment}
    return digest_bytes(msgspec.json.encode(_without_nulls(content), order="sorted"))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list | tuple) else value


def digest_scores(scores: Iterable[tuple[str, float | None]]) -> ScoresDigest:
    """Of rollouts, each `EXAMPLE.ROLLOUT` with its reward, in any order."""
    lines = sorted(f"{rollout} {reward!r}\n" for rollout, reward in scores)
    return ScoresDigest(len(lines), digest_bytes("".join(lines).encode()))


def encode_receipt(receipt: Receipt) -> bytes:
    """The content of its file; any other bytes are not what prime wrote."""
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"


def read_receipt(path: Path) -> tuple[Receipt, bytes]:
    """The receipt in a file, and its bytes; raises UsageError, StorageFailed."""
    with storage_errors(path), open_regular(path) as file:
        content = file.read()
    try:
        return decode_receipt(content), content
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from error


def decode_receipt(content: bytes) -> Receipt:
    """The receipt in JSON; raises UsageError for another version, and for anything else."""
    try:
        schema = msgspec.json.decode(content, type=_Versioned).schema
        if schema == RECEIPT_SCHEMA:
            return msgspec.json.decode(content, type=Receipt)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"This is not a receipt of a run: {error}") from error
    raise UsageError(
        f"The receipt has version {schema}, and this prime reads version {RECEIPT_SCHEMA}",
        hint="use the release of prime that wrote it, or a newer one",
    )


class _Versioned(msgspec.Struct):
    schema: int


# --- Writing ---


def open_receipt(folder: RunFolder, *, at: str, earlier: Iterable[PlanRecord] = ()) -> bytes | None:
    """Write the digest of the plan in run.json, after those of `earlier` sessions and runs.

    Returns the receipt that was there, whose plans come first. Raises UsageError for one that
    cannot be read, StorageFailed.
    """
    before = read_receipt(folder.receipt) if folder.receipt.is_file() else None
    manifest, plan = _read_manifest(folder)
    planned = manifest.plan
    record = PlanRecord(manifest.run_id, at, "", planned.concurrency, planned.max_cost)
    record = msgspec.structs.replace(record, sha256=digest_plan(plan, record))
    plans = (*(before[0].plans if before else ()), *earlier, record)
    _write(folder, _describe(manifest, plans))
    return before[1] if before else None


def close_receipt(folder: RunFolder) -> None:
    """Complete the receipt of a run whose other files are written; raises StorageFailed."""
    plans = read_receipt(folder.receipt)[0].plans
    _write(folder, make_receipt(folder, plans, index_journal(folder.journal)))


def restore_receipt(folder: RunFolder, before: bytes | None) -> None:
    """Undo `open_receipt`."""
    if before is None:
        folder.receipt.unlink(missing_ok=True)
    else:
        write_atomically(folder.receipt, before, mode=0o644)


def _write(folder: RunFolder, receipt: Receipt) -> None:
    receipt = msgspec.structs.replace(receipt, sha256=digest_receipt(receipt))
    write_atomically(folder.receipt, encode_receipt(receipt), mode=0o644)


def read_plan(folder: RunFolder) -> dict[str, Any]:
    """The plan in run.json, as JSON has it."""
    return _read_manifest(folder)[1]


def make_receipt(folder: RunFolder, plans: tuple[PlanRecord, ...], index: RunIndex) -> Receipt:
    """The receipt of the files in `folder`, not digested yet; `index` is of its journal."""
    manifest, _ = _read_manifest(folder)
    return msgspec.structs.replace(
        _describe(manifest, plans),
        status=manifest.status,
        served=manifest.served,
        changes=manifest.changes,
        planned=manifest.planned,
        scores=digest_scores(_scores(index)),
        files={path.name: list_file(path) for path in _listed(folder) if path.is_file()},
    )


def scan_journal(folder: RunFolder) -> RunIndex:
    """The index of every line of the journal, read without the file beside it."""
    entries = IndexEntries()
    scan_rest(folder.journal, entries)
    return JournalIndex(folder.journal, entries)


def list_file(path: Path) -> ListedFile:
    """Its digest and size; raises StorageFailed."""
    with storage_errors(path):
        return ListedFile(digest_file(path), path.stat().st_size)


def _listed(folder: RunFolder) -> tuple[Path, ...]:
    return folder.journal, folder.results, folder.metadata, folder.manifest, folder.packages


def _describe(manifest: RunManifest, plans: tuple[PlanRecord, ...]) -> Receipt:
    plan, interpreter = manifest.plan, manifest.interpreter
    return Receipt(
        run_id=manifest.run_id,
        environment=plan.environment.title,
        wheel_sha256=plan.environment.sha256,
        lock_digest=interpreter.lock_digest if interpreter else None,
        fingerprint=manifest.fingerprint,
        model=plan.model,
        endpoint=plan.endpoint,
        sampling=plan.sampling,
        plans=plans,
        versions=ReceiptVersions(
            prime=tuple(dict.fromkeys(each.prime for each in manifest.sessions)),
            system=manifest.system,
            python=interpreter.python if interpreter else None,
            verifiers=interpreter.verifiers if interpreter else None,
        ),
    )


def _read_manifest(folder: RunFolder) -> tuple[RunManifest, dict[str, Any]]:
    """run.json as written, without secrets, and its plan as JSON has it."""
    with storage_errors(folder.manifest):
        content = folder.manifest.read_bytes()
    return msgspec.json.decode(content, type=RunManifest), json.loads(content)["plan"]


def _scores(index: RunIndex) -> Iterator[tuple[str, float | None]]:
    for number in index.latest:
        example, rollout = index.entries.key(number)
        yield f"{example}.{rollout}", index.entries.reward(number)
