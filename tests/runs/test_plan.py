"""Tags and notes of a run."""

import subprocess
from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runs.plan import Labels, Revision, check_labels, revision_of
from tests.helpers.tools import require


def test_a_resumed_run_keeps_its_labels_and_gets_more() -> None:
    before = Labels(tags=("a", "b"), note="first", revision=Revision("1" * 40))
    now = Labels(tags=("b", "c"), revision=Revision("2" * 40))
    assert now.over(before) == Labels(
        tags=("a", "b", "c"), note="first", revision=Revision("1" * 40)
    )
    assert Labels(note="second").over(before).note == "second"


@pytest.mark.parametrize(
    ("tags", "note"), [(("x" * 65,), None), (("a\nb",), None), ((), "x" * 2001)]
)
def test_unreadable_data_is_refused(tags: tuple[str, ...], note: str | None) -> None:
    with pytest.raises(UsageError, match="at most"):
        check_labels(tags, note)


def git(folder: Path, *words: str) -> str:
    require("git")
    who = ("-c", "user.email=ada@example.com", "-c", "user.name=Ada")
    told = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    )
    return told.stdout.strip()


def repository(folder: Path) -> str:
    git(folder, "init", "-q")
    (folder / "env.py").write_text("x = 1\n")
    git(folder, "add", "env.py")
    git(folder, "commit", "-qm", "one")
    return git(folder, "rev-parse", "HEAD")


def test_the_commit_is_reported_and_outputs_are_not_changes(tmp_path: Path) -> None:
    commit = repository(tmp_path)
    (tmp_path / "outputs" / "evals").mkdir(parents=True)
    (tmp_path / "outputs" / "evals" / "run.json").write_text("{}")
    assert revision_of(tmp_path / "outputs") == Revision(commit)


def test_a_file_that_differs_or_is_new_makes_it_dirty(tmp_path: Path) -> None:
    commit = repository(tmp_path)
    (tmp_path / "new.py").write_text("")
    found = revision_of(tmp_path)
    assert found == Revision(commit, dirty=True)
    assert str(found) == f"{commit[:12]}, with changes"


def test_without_a_commit_there_is_none(tmp_path: Path) -> None:
    assert revision_of(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert revision_of(tmp_path) is None


def test_no_program_of_the_repository_is_started(tmp_path: Path) -> None:
    repository(tmp_path)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    (tmp_path / "ran").unlink(missing_ok=True)
    assert revision_of(tmp_path) is not None
    assert not (tmp_path / "ran").exists()
