"""A published wheel against its published sources."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.core.paths import prime_home
from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import Prime
from tests.helpers.served import served_hub
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen
from tests.helpers.wild import WILD, Shape, write_project, write_wheel


@pytest.fixture(autouse=True)
def no_starters() -> None:
    """Publishing the starters is tested elsewhere and would double the time."""
    mark_published(prime_home() / "hub")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "tiny_env")


def upload(prime: Prime, target: Path, *words: str, epoch: str | None = None) -> None:
    env = {"SOURCE_DATE_EPOCH": epoch} if epoch else {}
    prime("env", "upload", str(target), "--no-check", *words, env=env).ok()


def test_a_wheel_of_its_sources_has_the_same_bytes(prime: Prime, project: Path) -> None:
    upload(prime, project)
    result = prime("env", "verify", "ada/tiny-env").ok()
    assert "the same bytes" in result.out
    found = prime("env", "verify", "tiny-env", "--output", "json").ok().json
    assert (found["same"], found["identical"], found["differences"]) == (True, True, [])
    assert found["wheel_sha256"] == found["rebuilt_sha256"]


def test_times_are_passed_over_and_reported(prime: Prime, project: Path) -> None:
    upload(prime, project, epoch="1600000000")
    found = prime("env", "verify", "ada/tiny-env", "--output", "json").ok().json
    assert (found["same"], found["identical"]) == (True, False)
    assert "times" in found["normalised"][-1]


def test_a_wheel_that_holds_more_exits_1_and_says_what(prime: Prime, project: Path) -> None:
    source = (project / "tiny_env.py").read_text(encoding="utf-8")
    wheel = write_wheel(
        project / "dist", {"tiny_env.py": source, "tiny_env.json": "{}"}, requires=("evil",)
    )
    upload(prime, wheel)
    result = prime("env", "verify", "ada/tiny-env")
    assert result.code == 1
    assert "tiny_env.json: only in the published wheel" in result.out
    assert "METADATA: other metadata: " in result.out
    assert "does not match its sources" in result.err


def test_sources_that_do_not_build_exit_9(prime: Prime, tmp_path: Path) -> None:
    project = write_project(tmp_path / "tiny_env")
    source = (project / "tiny_env.py").read_text(encoding="utf-8")
    wheel = write_wheel(project / "dist", {"tiny_env.py": source})
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    broken = text.replace('include = ["tiny_env.py"]', "include = 3")
    (project / "pyproject.toml").write_text(broken, encoding="utf-8")
    upload(prime, wheel)
    result = prime("env", "verify", "ada/tiny-env")
    assert result.code == 9, result.err


@pytest.mark.parametrize("shape", list(WILD.values())[:4], ids=list(WILD)[:4])
def test_projects_as_people_write_them_verify(prime: Prime, tmp_path: Path, shape: Shape) -> None:
    upload(prime, write_project(tmp_path / "wild", shape))
    prime("env", "verify", f"ada/{shape.name}", "--quiet").ok()


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[str]:
    with served_hub(tmp_path / "theirs") as url:
        yield url


@needs_ssh_keygen
def test_a_stranger_is_asked_about_and_signatures_are_shown(
    prime: Prime, theirs: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_API_BASE_URL", theirs)
    upload(prime, project, "--sign", str(make_key(tmp_path / "ssh")))
    refused = prime("env", "verify", "ada/tiny-env")
    assert refused.code == 4
    assert "--yes" in refused.err
    shown = prime("env", "verify", "ada/tiny-env", "--yes").ok().out
    assert "ssh ED25519 SHA256:" in shown
    assert "(unknown)" in shown
    assert prime("env", "verify", "ada/tiny-env", "--require-signature").code == 4


def test_a_pinned_wheel_says_nothing_of_the_sources_that_a_build_would_run(
    prime: Prime, theirs: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_API_BASE_URL", theirs)
    upload(prime, project)
    sha256 = prime("env", "verify", "ada/tiny-env", "--yes", "-o", "json").ok().json["wheel_sha256"]
    prime("env", "trust", "ada", "--remove").ok()
    refused = prime("env", "verify", f"ada/tiny-env#sha256={sha256}")
    assert refused.code == 4
    assert "`ada` on" in refused.err
