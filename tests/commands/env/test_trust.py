"""Whose code may be installed and run: lists, pins, signatures, as they are typed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.hubs import open_hub, publish
from tests.helpers.served import served_hub
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen
from tests.helpers.wild import Shape, write_project


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Somebody's hub, with `ada/tiny-env` on it."""
    publish(open_hub(tmp_path / "theirs"), tmp_path, requires=())
    with served_hub(tmp_path / "theirs") as served:
        yield served


@pytest.fixture
def theirs(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PRIME_API_BASE_URL", url)
    return url


def test_without_a_terminal_a_stranger_is_refused_with_the_ways_out(
    prime: Prime, theirs: str, tmp_path: Path
) -> None:
    for command in (
        ("env", "install", "ada/tiny-env", "--dry-run"),
        ("eval", "run", "ada/tiny-env", "-m", "builtin/oracle"),
        ("env", "check", "ada/tiny-env"),
    ):
        refused = prime(*command, cwd=tmp_path)
        assert refused.code == 4, refused.err
        assert "error: `ada` on" in refused.err
        assert "--yes" in refused.err
        assert "prime env trust ada" in refused.err
    assert not (tmp_path / ".venv").exists()


def test_owners_are_put_on_the_list_and_taken_off(
    prime: Prime, theirs: str, tmp_path: Path
) -> None:
    assert prime("env", "trust", "--output", "json").ok().json == []
    assert "trusted" in prime("env", "trust", "ada", "eve").ok().err
    prime("env", "install", "ada/tiny-env", "--dry-run", cwd=tmp_path).ok()
    rows = prime("env", "trust", "--output", "json").ok().json
    assert [(row["hub"], row["owner"], row["how"]) for row in rows] == [
        (theirs, "ada", "command"),
        (theirs, "eve", "command"),
    ]
    prime("env", "trust", "ada", "--remove").ok()
    assert prime("env", "trust", "ada", "--remove").code == 6
    assert prime("env", "trust", "--remove").code == 2
    assert prime("env", "trust", "ada/tiny-env").code == 2
    assert prime("env", "install", "ada/tiny-env", "--dry-run", cwd=tmp_path).code == 4


def test_the_list_of_the_local_hub_is_that_of_its_upstream(prime: Prime) -> None:
    assert prime("env", "trust", "ada").code == 2
    record = prime(
        "env", "trust", "ada", "--output", "json", env={"PRIME_UPSTREAM": "https://hub.example"}
    ).ok()
    assert record.json == {"hub": "https://hub.example", "owners": ["ada"], "trusted": True}


def test_a_variable_names_owners_for_ci(prime: Prime, theirs: str, tmp_path: Path) -> None:
    words = ("env", "install", "ada/tiny-env", "--dry-run")
    prime(*words, cwd=tmp_path, env={"PRIME_TRUST": "eve, ada"}).ok()
    assert prime(*words, cwd=tmp_path, env={"PRIME_TRUST": "eve"}).code == 4
    prime(*words, "--yes", cwd=tmp_path).ok()
    prime(*words, cwd=tmp_path).ok()


def test_the_sha256_is_shown_and_pins(prime: Prime, theirs: str, tmp_path: Path) -> None:
    sha256 = prime("env", "info", "ada/tiny-env", "--output", "json").ok().json["wheel_sha256"]
    listed = prime("env", "versions", "ada/tiny-env", "--output", "json").ok().json
    assert [row["wheel_sha256"] for row in listed["versions"]] == [sha256]
    assert sha256[:12] in prime("env", "versions", "ada/tiny-env").ok().out
    words = ("env", "install", "--dry-run")
    prime(*words, "ada/tiny-env", "--sha256", sha256.upper(), cwd=tmp_path).ok()
    prime(*words, f"ada/tiny-env@0.1.0#sha256={sha256}", cwd=tmp_path).ok()
    prime(*words, f"tiny-env#sha256={sha256}", cwd=tmp_path).ok()
    other = prime(*words, "ada/tiny-env", "--sha256", "0" * 64, cwd=tmp_path)
    assert other.code == 8
    assert "is pinned" in other.err
    assert prime(*words, "ada/tiny-env", "--sha256", "0f", cwd=tmp_path).code == 2
    assert prime(*words, "ada/tiny-env", "b/c", "--sha256", sha256, cwd=tmp_path).code == 2
    project = write_project(tmp_path / "here")
    assert prime(*words, str(project), "--sha256", sha256, cwd=tmp_path).code == 2


@needs_ssh_keygen
def test_a_wheel_is_signed_shown_and_required(prime: Prime, theirs: str, tmp_path: Path) -> None:
    key = make_key(tmp_path / "ssh")
    project = write_project(tmp_path / "mine" / "tiny_two", Shape(name="tiny-two"))
    plain = prime("env", "upload", str(project), "--no-check", "--output", "json").ok().json
    assert plain["signatures"] == 0
    words = ("env", "upload", str(project), "--no-check", "--sign", str(key))
    signed = prime(*words, "--output", "json").ok().json
    assert (signed["already"], signed["signatures"]) == (True, 1)
    assert prime(*words, "--output", "json").ok().json["signatures"] == 1  # the very same
    info = prime("env", "info", "ada/tiny-two").ok().out
    assert "signed" in info
    assert "(unknown)" in info
    install = ("env", "install", "ada/tiny-two", "--dry-run", "--yes")
    refused = prime(*install, "--require-signature", cwd=tmp_path)
    assert refused.code == 4
    assert "prime env signers ada --key" in refused.err
    prime("env", "signers", "ada", "--key", f"{key}.pub").ok()
    assert "ssh-ed25519" in prime("env", "signers").ok().out
    prime(*install, "--require-signature", cwd=tmp_path).ok()
    required = {"PRIME_REQUIRE_SIGNATURE": "1"}
    prime(*install, cwd=tmp_path, env=required).ok()
    unsigned = prime("env", "install", "ada/tiny-env", "--dry-run", cwd=tmp_path, env=required)
    assert unsigned.code == 4
    assert "is not signed" in unsigned.err
    (info,) = prime("env", "info", "ada/tiny-two", "--output", "json").ok().json["signatures"]
    assert (info["kind"], info["verdict"]) == ("ssh", "allowed")


@needs_ssh_keygen
def test_what_cannot_be_signed_is_not_published(prime: Prime, theirs: str, tmp_path: Path) -> None:
    project = write_project(tmp_path / "mine" / "tiny_two", Shape(name="tiny-two"))
    words = ("env", "upload", str(project), "--no-check", "--sign")
    assert prime(*words, str(tmp_path / "absent")).code == 6
    nobody = prime(*words, "sigstore")
    assert nobody.code == 4
    assert "No identity to sign with" in nobody.err
    attestation = tmp_path / "attestation"
    attestation.write_text("{}", encoding="utf-8")
    assert prime(*words[:-1], "--attestation", str(attestation)).code == 2
    assert prime("env", "status", "ada/tiny-two").code == 6


@needs_ssh_keygen
def test_only_a_wheel_that_was_made_here_is_signed(
    prime: Prime, theirs: str, tmp_path: Path
) -> None:
    project = write_project(tmp_path / "mine" / "tiny_two", Shape(name="tiny-two"))
    words = ("env", "upload", str(project), "--no-check")
    # Another time in its members: the same sources, and other bytes.
    prime(*words, env={"SOURCE_DATE_EPOCH": "1600000000"}).ok()
    refused = prime(*words, "--sign", str(make_key(tmp_path / "ssh")))
    assert refused.code == 8
    assert "is not the one built here" in refused.err


def test_signers_are_named_whole(prime: Prime, tmp_path: Path) -> None:
    assert prime("env", "signers", "ada", "--identity", "a@b").code == 2
    assert prime("env", "signers", "--remove").code == 2
    assert prime("env", "signers", "ada", "--remove").code == 6
    assert prime("env", "signers", "ada", "--key", str(tmp_path / "nowhere.pub")).code == 6
    (tmp_path / "key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", encoding="utf-8")
    assert prime("env", "signers", "ada", "--key", str(tmp_path / "key")).code == 2
    issuer = ("--identity", "a@b.org", "--issuer", "https://issuer.example")
    record = prime("env", "signers", "ada", *issuer, "--output", "json").ok().json
    assert record["signers"][0]["kind"] == "sigstore"
