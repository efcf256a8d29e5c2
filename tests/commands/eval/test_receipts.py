"""`prime eval verify` and `prime eval sign`, as a user types them."""

from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen
from tests.helpers.wild import write_project
from tests.runs.rows import row
from tests.runs.saving import save_receipt, save_run


@needs_ssh_keygen
def test_a_signed_run_is_of_a_trusted_signer_once_the_key_is_known(
    prime: Prime, tmp_path: Path
) -> None:
    folder, key = save_run(tmp_path, row(0, reward=1.0)), make_key(tmp_path / "ssh")
    save_receipt(folder)
    done = prime("eval", "sign", "--key", str(key), "-o", "json", cwd=tmp_path).ok().json
    assert [each["verdict"] for each in done["signatures"]] == ["unknown"]
    refused = prime("eval", "verify", "--require-signature", cwd=tmp_path)
    assert refused.code == 4
    assert "not signed by a trusted signer" in refused.err
    prime("env", "signers", "ada", "--key", f"{key}.pub", cwd=tmp_path).ok()
    shown = prime("eval", "verify", folder.run_id, "--require-signature", cwd=tmp_path).ok()
    assert "ada signed it" in shown.out


def test_a_changed_file_is_named_and_ends_with_1(prime: Prime, tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=0.0))
    save_receipt(folder)
    assert "valid" in prime("eval", "verify", str(folder.receipt), cwd=tmp_path).ok().out
    changed = folder.journal.read_bytes().replace(b'"reward":0', b'"reward":1')
    folder.journal.write_bytes(changed)
    refused = prime("eval", "verify", "-o", "json", cwd=tmp_path)
    assert refused.code == 1
    assert refused.json["problems"] == ["journal.jsonl was changed"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_home")
def test_each_run_has_a_receipt_also_after_a_resume(prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    argv = ("eval", "run", ".", "-m", "builtin/oracle", "-r", "1")
    prime(*argv, "-n", "1", cwd=tmp_path).ok()
    assert "1 of 1" in prime("eval", "verify", cwd=tmp_path).ok().out
    prime(*argv, "-n", "2", "--resume", cwd=tmp_path).ok()
    assert "2 of 2" in prime("eval", "verify", cwd=tmp_path).ok().out
