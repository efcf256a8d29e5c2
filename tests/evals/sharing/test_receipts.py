"""Receipts of runs: what they list, what `verify` finds in changed ones, and who signed them."""

import random
from pathlib import Path

import msgspec
import pytest

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import GateFailed, NotFound, NotTrusted, UsageError
from prime_cli.core.progress import Silent
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.envs.signatures.versions import SignatureVerdict
from prime_cli.evals.shards.merge import merge_runs
from prime_cli.evals.sharing.receipts import (
    ReceiptVerification,
    require_valid,
    sign_receipt,
    verify_receipt,
)
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import RunSession, load_manifest, save_manifest
from prime_cli.runs.plan import RunChange
from prime_cli.runs.receipt import (
    ListedFile,
    Receipt,
    close_receipt,
    digest_receipt,
    encode_receipt,
    open_receipt,
    read_receipt,
    restore_receipt,
)
from prime_cli.runs.scrubber import Scrubber
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line
from tests.runs.rows import row
from tests.runs.saving import save_parts, save_receipt, save_run

STARTED = "2026-01-02T03:04:05+00:00"
ROWS = [row(example, rollout, reward=example / 3) for example in range(2) for rollout in range(2)]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A finished run with its receipt."""
    return receipted(tmp_path)


def receipted(cwd: Path) -> RunFolder:
    folder = save_run(cwd, *ROWS, sessions=(RunSession(started=STARTED),))
    save_receipt(folder)
    return folder


def verify(folder: RunFolder) -> ReceiptVerification:
    return verify_receipt(folder.path, folder.path / "home")


def rewrite(folder: RunFolder, *, seal: bool = False, **changes: object) -> None:
    """Have the receipt say something else; with `seal`, its own digest is right again."""
    changed = msgspec.structs.replace(read_receipt(folder.receipt)[0], **changes)
    if seal:
        changed = msgspec.structs.replace(changed, sha256=digest_receipt(changed))
    folder.receipt.write_bytes(encode_receipt(changed))


def relist(folder: RunFolder, path: Path) -> None:
    """List `path` as it is now, as a forger would."""
    files = read_receipt(folder.receipt)[0].files
    listed = ListedFile(digest_file(path), path.stat().st_size)
    rewrite(folder, seal=True, files={**files, path.name: listed})


def test_a_receipt_lists_the_files_and_what_they_prove(run: RunFolder) -> None:
    found = verify(run)
    assert (found.valid, found.rollouts, found.planned) == (True, 4, 4)
    receipt, _ = read_receipt(run.receipt)
    assert list(receipt.files) == ["journal.jsonl", "results.jsonl", "run.json"]
    assert receipt.wheel_sha256 == "ab" * 32
    assert any("4 rollouts" in each for each in found.proves)
    assert any("http://localhost:8000/v1 was org/model" in each for each in found.does_not_prove)
    require_valid(found)


def test_a_run_that_has_not_ended_has_its_plan_and_lists_no_files(tmp_path: Path) -> None:
    folder = save_run(tmp_path, *ROWS)
    open_receipt(folder, at=STARTED)
    receipt, _ = read_receipt(folder.receipt)
    assert [plan.at for plan in receipt.plans] == [STARTED]
    with pytest.raises(GateFailed, match="is not valid") as raised:
        require_valid(verify(folder))
    assert "has not ended" in (raised.value.detail or "")


def test_a_resumed_run_keeps_the_plans_of_its_earlier_sessions(run: RunFolder) -> None:
    before = open_receipt(run, at="2026-01-03T00:00:00+00:00")
    close_receipt(run)
    assert len(read_receipt(run.receipt)[0].plans) == 2
    assert verify(run).valid
    restore_receipt(run, before)
    assert len(read_receipt(run.receipt)[0].plans) == 1
    assert verify(run).valid


def test_what_ctl_changed_under_way_is_listed_beside_the_plan(run: RunFolder) -> None:
    manifest = load_manifest(run.manifest)
    plan = msgspec.structs.replace(manifest.plan, concurrency=5, max_cost=2.0)
    changes = (RunChange("2026-01-02T04:00:00+00:00", "ada", "set", 5, 2.0),)
    changed = msgspec.structs.replace(manifest, plan=plan, changes=changes)
    save_manifest(run.manifest, changed, Scrubber({}))
    close_receipt(run)
    assert verify(run).valid
    assert read_receipt(run.receipt)[0].changes == changes


def test_a_plan_other_than_the_recorded_one_is_found(run: RunFolder) -> None:
    manifest = load_manifest(run.manifest)
    plan = msgspec.structs.replace(manifest.plan, sampling={"temperature": 0.0})
    save_manifest(run.manifest, msgspec.structs.replace(manifest, plan=plan), Scrubber({}))
    close_receipt(run)
    (problem,) = verify(run).problems
    assert "not the one that was written before the first call" in problem


def test_a_merged_run_has_the_plans_of_its_parts(tmp_path: Path) -> None:
    parts = save_parts(tmp_path / "parts", 3)
    for part in parts:
        save_receipt(part)
    done = merge_runs([str(tmp_path / "parts")], tmp_path, Silent())
    receipt, _ = read_receipt(done.folder.receipt)
    known = {part.run_id for part in parts}
    assert {plan.run_id for plan in receipt.plans} == known | {done.folder.run_id}
    assert verify(done.folder).valid


@pytest.mark.slow
def test_each_of_10_000_single_byte_changes_is_found(run: RunFolder) -> None:
    seed = random.Random(20261129)
    paths = [run.receipt, *(run.path / name for name in read_receipt(run.receipt)[0].files)]
    places = [(path, place) for path in paths for place in range(path.stat().st_size)]
    for path, place in seed.choices(places, k=10_000):
        with path.open("r+b", buffering=0) as file:
            file.seek(place)
            before = file.read(1)
            file.seek(place)
            file.write(bytes([before[0] ^ seed.randrange(1, 256)]))
            try:
                found = verify(run).valid
            except UsageError:
                found = False
            file.seek(place)
            file.write(before)
        assert not found, (path.name, place)
    assert verify(run).valid


def test_a_receipt_of_another_version_is_refused_with_what_to_do(run: RunFolder) -> None:
    rewrite(run, schema=2)
    with pytest.raises(UsageError, match="has version 2, and this prime reads version 1"):
        verify(run)


def test_a_receipt_that_lies_of_its_files_is_found_although_its_digest_is_right(
    run: RunFolder,
) -> None:
    rewrite(run, seal=True, model="org/better")
    assert verify(run).problems == ("`model` is not what the files say",)


def test_a_missing_row_is_found_even_where_the_digests_were_made_again(run: RunFolder) -> None:
    whole = run.results.read_bytes()
    run.results.write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    assert verify(run).problems == ("results.jsonl was changed",)
    relist(run, run.results)
    assert verify(run).problems == ("results.jsonl has 3 lines, and the journal 4 rollouts",)
    run.journal.write_bytes(b"".join(run.journal.read_bytes().splitlines(keepends=True)[1:]))
    relist(run, run.journal)
    assert verify(run).problems == ("`scores` is not what the files say",)
    run.results.unlink()
    assert "results.jsonl is missing" in verify(run).problems


def test_a_listed_file_outside_of_the_folder_is_not_read(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s", encoding="utf-8", newline="\n")
    rewrite(run, seal=True, files={"../../../../secret": ListedFile("0" * 64, 1)})
    assert "../../../../secret is missing" in verify(run).problems


def test_what_is_no_receipt_is_refused_in_a_sentence(run: RunFolder, tmp_path: Path) -> None:
    for content in (b"", b"[]", b'{"schema": 1}', b"\xff", b"[" * 5000):
        run.receipt.write_bytes(content)
        with pytest.raises(UsageError, match="not a receipt of a run"):
            verify(run)
    with pytest.raises(NotFound, match="has no receipt"):
        verify_receipt(tmp_path, tmp_path)


@needs_ssh_keygen
def test_a_signature_is_of_whom_the_signers_file_names(run: RunFolder, tmp_path: Path) -> None:
    home, key = tmp_path / "home", make_key(tmp_path / "ssh")
    sign_receipt(run, str(key), home)
    (unknown,) = _verdicts(run, home)
    assert unknown.verdict == "unknown"
    with pytest.raises(NotTrusted, match="not signed by a trusted signer"):
        require_valid(verify_receipt(run.path, home), signed=True)
    AllowedSigners(home).add_key("bob", public_line(make_key(tmp_path / "ssh", "other")))
    AllowedSigners(home).add_key("ada", public_line(key))
    (allowed,) = _verdicts(run, home)
    assert (allowed.verdict, allowed.signer.split(",")[0]) == ("allowed", "ada")
    found = verify_receipt(run.path, home)
    require_valid(found, signed=True)
    assert "ada signed it" in found.proves


@needs_ssh_keygen
def test_the_signature_of_another_receipt_is_bad(run: RunFolder, tmp_path: Path) -> None:
    home, key, other = tmp_path / "home", make_key(tmp_path / "ssh"), receipted(tmp_path / "other")
    sign_receipt(other, str(key), home)
    theirs: Receipt = read_receipt(other.receipt)[0]
    rewrite(run, signatures=theirs.signatures)
    (problem,) = verify_receipt(run.path, home).problems
    assert problem == "a signature is bad: it signs something else"


@needs_ssh_keygen
def test_a_changed_run_is_not_signed(run: RunFolder, tmp_path: Path) -> None:
    run.results.write_bytes(b"")
    with pytest.raises(GateFailed):
        sign_receipt(run, str(make_key(tmp_path / "ssh")), tmp_path)


def _verdicts(run: RunFolder, home: Path) -> tuple[SignatureVerdict, ...]:
    return verify_receipt(run.path, home).signatures
