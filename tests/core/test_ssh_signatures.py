"""Signatures by ssh keys: good ones, and all that is not one."""

import subprocess
from pathlib import Path

import pytest

from prime_cli.core import ssh_signatures as ssh
from prime_cli.core.errors import BadReference, NotFound, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.envs.signatures.attestations import make_statement
from prime_cli.envs.signatures.signers import AllowedSigners, SigstoreIdentity
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line

pytestmark = needs_ssh_keygen
WORDLE = EnvRef("ada", "wordle", "1.2")
STATEMENT = make_statement(WORDLE, "wordle-1.2-py3-none-any.whl", "0f" * 32, "c0ffee")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path / "ssh")


@pytest.fixture
def signers(tmp_path: Path) -> AllowedSigners:
    return AllowedSigners(tmp_path / "home")


def test_a_signature_is_good_and_its_key_is_reported(key: Path, signers: AllowedSigners) -> None:
    found = ssh.verify(STATEMENT, ssh.sign(key, STATEMENT), "ada", signers.keys)
    assert found is not None
    assert found.key.startswith("ED25519 SHA256:")
    assert not found.allowed


def test_a_key_is_allowed_for_the_owner_it_was_added_for(
    key: Path, signers: AllowedSigners
) -> None:
    signers.add_key("ada", public_line(key))
    signature = ssh.sign(key, STATEMENT)
    for owner, allowed in (("ada", True), ("eve", False), ("*", False)):
        found = ssh.verify(STATEMENT, signature, owner, signers.keys)
        assert found is not None
        assert found.allowed is allowed
    assert signers.remove("ada") == 1
    found = ssh.verify(STATEMENT, signature, "ada", signers.keys)
    assert found is not None
    assert not found.allowed


@pytest.mark.parametrize(
    "other",
    [
        make_statement(EnvRef("eve", "wordle", "1.2"), "w.whl", "0f" * 32, "c0ffee"),
        STATEMENT.replace(b"0f", b"0e"),
        STATEMENT.replace(b"1.2", b"1.3"),
        STATEMENT + b"\n",
        b"",
    ],
)
def test_it_signs_nothing_else(key: Path, signers: AllowedSigners, other: bytes) -> None:
    assert ssh.verify(other, ssh.sign(key, STATEMENT), "ada", signers.keys) is None


def test_a_signature_of_something_else_is_invalid_for_a_wheel(
    key: Path, signers: AllowedSigners, tmp_path: Path
) -> None:
    message = tmp_path / "message"
    message.write_bytes(STATEMENT)
    argv = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", "git", str(message)]
    subprocess.run(argv, check=True)
    signature = (tmp_path / "message.sig").read_text(encoding="ascii")
    assert ssh.verify(STATEMENT, signature, "ada", signers.keys) is None


@pytest.mark.parametrize("junk", ["", "junk", "-----BEGIN SSH SIGNATURE-----\n", "\x00"])
def test_junk_is_not_a_signature(signers: AllowedSigners, junk: str) -> None:
    assert ssh.verify(STATEMENT, junk, "ada", signers.keys) is None


def test_an_invalid_key_signs_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no key"):
        ssh.sign(tmp_path / "absent", STATEMENT)
    (tmp_path / "text").write_text("no key", encoding="utf-8")
    with pytest.raises(UsageError, match="ssh-keygen cannot sign"):
        ssh.sign(tmp_path / "text", STATEMENT)


def test_a_public_key_signs_by_an_agent_or_not_at_all(key: Path) -> None:
    key.rename(key.with_name("elsewhere"))
    with pytest.raises(UsageError, match="cannot sign") as refused:
        ssh.sign(key.with_name(f"{key.name}.pub"), STATEMENT)
    assert "is in the agent" in (refused.value.hint or "")


def test_a_missing_ssh_keygen_is_reported(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="which is not installed"):
        ssh.sign(key, STATEMENT)


def test_lines_by_hand_stay_and_comments_are_passed_over(
    key: Path, signers: AllowedSigners
) -> None:
    signers.keys.parent.mkdir()
    signers.keys.write_text(f"# mine\nbob {public_line(key)}\n", encoding="utf-8")
    signers.add_key("ada", public_line(key))
    signers.add_key("ada", public_line(key))
    signers.add_identity("ada", SigstoreIdentity("ada@example.org", "https://accounts.example"))
    assert [(each.owner, each.kind) for each in signers.all()] == [
        ("bob", "ssh"),
        ("ada", "ssh"),
        ("ada", "sigstore"),
    ]
    assert signers.identities_of("ada") == [
        SigstoreIdentity("ada@example.org", "https://accounts.example")
    ]
    assert signers.identities_of("bob") == []
    assert signers.remove("ada") == 2
    assert signers.keys.read_text(encoding="utf-8").startswith("# mine\nbob ssh-ed25519")


def test_an_invalid_public_key_or_owner_is_refused(key: Path, signers: AllowedSigners) -> None:
    private = key.read_text(encoding="utf-8")
    for text in (private, "ssh-ed25519", "", f"{public_line(key)}\n{public_line(key)}"):
        with pytest.raises(UsageError, match="not a single public SSH key"):
            signers.add_key("ada", text)
    for owner in ("*", "a b", "ada,eve", "!ada"):
        with pytest.raises(BadReference):
            signers.add_key(owner, public_line(key))
    with pytest.raises(UsageError, match="one word each"):
        signers.add_identity("ada", SigstoreIdentity("a b", "https://accounts.example"))
    assert signers.all() == []
