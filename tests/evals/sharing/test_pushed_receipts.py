"""Receipts on a hub: compared with what was pushed, marked, and asked for by a leaderboard."""

from pathlib import Path

import msgspec
import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.evals.sharing.download import save_evaluation
from prime_cli.evals.sharing.receipts import sign_receipt, verify_receipt
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.pushed_manifest import RECEIPT
from prime_cli.runs.receipt import digest_receipt, encode_receipt, read_receipt
from prime_cli.wire.evaluations import EvaluationUpdate, HistoryPoint, HistoryQuery
from prime_cli.wire.locks import ReceiptMark
from tests.evals.sharing.pushing import ROWS, change_environment, only_evaluation, push, wheel_of
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen
from tests.runs.saving import save_receipt, save_run


@pytest.fixture
def receipted(hub: HubClient, tmp_path: Path) -> RunFolder:
    """A run of the hub's own wheel, with its receipt."""
    folder = save_run(tmp_path, *ROWS, planned=len(ROWS))
    change_environment(folder, sha256=wheel_of(hub))
    save_receipt(folder)
    return folder


def mark(hub: HubClient) -> ReceiptMark | None:
    return only_evaluation(hub).receipt


def asked_for(hub: HubClient) -> list[HistoryPoint]:
    """The evaluations with a valid receipt."""
    return hub.evaluations.history(EnvRef("ada", "wordle"), HistoryQuery(receipts=True)).evaluations


def forge(folder: RunFolder, **changes: object) -> None:
    """A receipt that says something else, and whose own digest is right."""
    changed = msgspec.structs.replace(read_receipt(folder.receipt)[0], **changes)
    changed = msgspec.structs.replace(changed, sha256=digest_receipt(changed))
    folder.receipt.write_bytes(encode_receipt(changed))


def test_a_run_without_a_receipt_has_no_mark(hub: HubClient, folder: RunFolder) -> None:
    push(hub, folder)
    assert mark(hub) is None


def test_a_valid_receipt_is_marked_and_asked_for(hub: HubClient, receipted: RunFolder) -> None:
    push(hub, receipted)
    assert mark(hub) == ReceiptMark(valid=True)
    (found,) = asked_for(hub)
    assert found.evaluation_id == only_evaluation(hub).evaluation_id


@needs_ssh_keygen
def test_the_mark_names_the_key_that_signed(
    hub: HubClient, receipted: RunFolder, tmp_path: Path
) -> None:
    push(hub, receipted)
    sign_receipt(receipted, str(make_key(tmp_path / "ssh")), tmp_path)
    assert push(hub, receipted).status == "updated"
    found = mark(hub)
    assert found is not None
    assert found.words.startswith("valid, signed by ED25519 SHA256:")


@needs_ssh_keygen
def test_a_signature_of_something_else_is_not_valid(
    hub: HubClient, receipted: RunFolder, tmp_path: Path
) -> None:
    sign_receipt(receipted, str(make_key(tmp_path / "ssh")), tmp_path)
    forge(receipted, fingerprint="0" * 64)
    push(hub, receipted)
    assert mark(hub) == ReceiptMark(valid=False, problem="a signature signs something else")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"schema": 2}, "The receipt has version 2, and this prime reads version 1"),
        ({"wheel_sha256": "0" * 64}, "it is of the wheel 000000000000"),
        ({"model": "org/better"}, "it is of the model org/better"),
        ({"plans": ()}, "its plan is not that of the run"),
        ({"scores": None}, "it is of 0 rollouts, and 8 were pushed"),
    ],
)
def test_a_receipt_of_something_else_says_why_it_is_not_valid(
    hub: HubClient, receipted: RunFolder, changes: dict[str, object], problem: str
) -> None:
    request = {RECEIPT: _forged(receipted, changes)}
    push(hub, receipted)
    found = only_evaluation(hub)
    change = EvaluationUpdate(metadata=found.metadata | request)
    hub.evaluations.update(found.evaluation_id, change)
    hub.evaluations.finalize(found.evaluation_id)
    told = mark(hub)
    assert told is not None
    assert not told.valid
    assert (told.problem or "").startswith(problem)
    assert asked_for(hub) == []


def _forged(folder: RunFolder, changes: dict[str, object]) -> object:
    changed = msgspec.structs.replace(read_receipt(folder.receipt)[0], **changes)
    return msgspec.to_builtins(msgspec.structs.replace(changed, sha256=digest_receipt(changed)))


@needs_ssh_keygen
def test_a_copy_from_a_hub_proves_what_hubs_keep(
    hub: HubClient, receipted: RunFolder, tmp_path: Path
) -> None:
    key = str(make_key(tmp_path / "ssh"))
    sign_receipt(receipted, key, tmp_path)
    push(hub, receipted)
    there = tmp_path / "there"
    copy = save_evaluation(hub, only_evaluation(hub).evaluation_id, there, Silent()).folder
    found = verify_receipt(copy.path, tmp_path)
    assert (found.valid, found.rollouts, found.run_id) == (True, 8, receipted.run_id)
    assert "8 rollouts with their rewards" in found.proves[0]
    assert "a hub's copy has others" in found.does_not_prove[0]
    assert [each.verdict for each in found.signatures] == ["unknown"]
    with pytest.raises(NotFound, match="is a hub's copy of a run"):
        sign_receipt(copy, key, tmp_path)
    whole = copy.pushed_receipt.read_bytes()
    copy.pushed_receipt.write_bytes(whole.replace(b'"model": "', b'"model": "better-'))
    assert verify_receipt(copy.path, tmp_path).problems == (
        "pushed-receipt.json was edited",
        "`model` is not what the files say",
    )
    copy.pushed_receipt.write_bytes(whole)
    copy.journal.write_bytes(b"".join(copy.journal.read_bytes().splitlines(keepends=True)[1:]))
    found = verify_receipt(copy.pushed_receipt, tmp_path)
    assert found.problems == ("`scores` is not what the files say",)


def test_a_sample_that_is_changed_later_ends_the_mark(hub: HubClient, receipted: RunFolder) -> None:
    push(hub, receipted)
    evaluation = only_evaluation(hub).evaluation_id
    better = {"sample_id": "0.0", "example_id": 0, "rollout_number": 0, "attempt": 9, "reward": 1.0}
    hub.evaluations.push(evaluation, [msgspec.json.encode(better)])
    assert mark(hub) is None
    hub.evaluations.finalize(evaluation)
    told = mark(hub)
    assert told is not None
    assert told.problem == "its rewards are not those that were pushed"


def test_metadata_that_is_changed_later_ends_the_mark(hub: HubClient, receipted: RunFolder) -> None:
    push(hub, receipted)
    found = only_evaluation(hub)
    hub.evaluations.update(found.evaluation_id, EvaluationUpdate(metadata=found.metadata))
    assert mark(hub) is None
