"""Environments in the shapes of the wild find a real verifiers from PyPI that they import with."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from prime_cli.core.progress import Silent
from prime_cli.runtime.interpreters import prepare_interpreter
from tests.helpers.venvs import python_at_hand
from tests.helpers.wheelhouse import package
from tests.helpers.wild import (
    OLD_MULTI_TURN,
    SINGLE_TURN,
    STOP_DECORATOR,
    TASKSET,
    TOOL_RUBRIC,
)

PYTHON_3_12 = python_at_hand("3.12")
PLAIN_TASK = SINGLE_TURN.replace('"answer": str(i)}', '"answer": str(i), "task": "say"}')


@dataclass(frozen=True)
class Case:
    """A package, and what must be found for it."""

    source: str
    verifiers: tuple[str, ...]
    generation: str = "v0"
    requires: tuple[str, ...] = ("verifiers",)
    published: str | None = None
    found_by: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    member_prefix: str = ""


CASES = {
    "open bound, uploaded today": Case(SINGLE_TURN, ("0.3.1",), found_by="static"),
    "open bound, of the first family": Case(
        OLD_MULTI_TURN, ("0.1.5.post0",), published="2025-10-15", found_by="date"
    ),
    "open bound, of the second family": Case(
        STOP_DECORATOR, ("0.1.9.post3",), published="2026-02-01", found_by="date"
    ),
    "open bound, of the third family": Case(
        STOP_DECORATOR, ("0.1.14",), published="2026-06-15", found_by="date"
    ),
    "written against the release to come": Case(
        STOP_DECORATOR, ("0.1.8",), published="2025-11-12", found_by="next-release"
    ),
    "an old conversation, uploaded today": Case(OLD_MULTI_TURN, ("0.1.5.post0",)),
    "a conversation of now": Case(STOP_DECORATOR, ("0.3.1",)),
    "a ToolRubric, uploaded today": Case(TOOL_RUBRIC, ("0.1.5.post0",)),
    "plain text tasks, uploaded today": Case(PLAIN_TASK, ("0.1.12",)),
    "no verifiers declared": Case(SINGLE_TURN, ("0.3.1",), requires=("datasets",)),
    "an open bound of its time": Case(
        SINGLE_TURN, ("0.1.9.post3",), requires=("verifiers>=0.1.9",), found_by="bound"
    ),
    "a v1 taskset": Case(
        TASKSET, ("0.4.0",), generation="v1", requires=("verifiers",), found_by="date"
    ),
    "a pre-release by name": Case(
        SINGLE_TURN, ("0.1.5.dev1",), requires=("verifiers>=0.1.5.dev0,<=0.1.5.dev1",)
    ),
    "an extra": Case(
        "import textarena\n" + SINGLE_TURN, ("0.1.14",), requires=("verifiers[ta]>=0.1.14,<0.2",)
    ),
    "members with ./": Case(SINGLE_TURN, ("0.3.1",), member_prefix="./"),
    "files in the root of site-packages": Case(
        SINGLE_TURN, ("0.3.1",), files=(("pyproject.toml", "[project]\n"), ("README.md", "# x\n"))
    ),
    "a sandbox for Python code, uploaded today": Case(
        # Since 0.4.0 today's release is another design, and none is looked for by date.
        SINGLE_TURN.replace("vf.SingleTurnEnv(", "vf.PythonEnv("),
        ("0.1.14",),
        found_by="static",
    ),
    "sources of uv that the wheel lost": Case(
        "import six\n" + SINGLE_TURN, ("0.3.1",), requires=("verifiers", "six")
    ),
}


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(autouse=True)
def one_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One PRIME_HOME for all: packages that locked the same share their lower layer."""
    monkeypatch.setenv("PRIME_HOME", str(shared_home))


@pytest.mark.slow
@pytest.mark.sample(2, "name")
@pytest.mark.parametrize("name", CASES)
def test_a_package_from_the_wild_finds_its_verifiers(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    published = datetime.fromisoformat(f"{case.published}T12:00+00:00") if case.published else None
    found = package(
        tmp_path,
        f"{case.source}# {name}: other bytes, so another interpreter\n",
        requires=case.requires,
        published=published,
        files=dict(case.files),
        member_prefix=case.member_prefix,
    )
    progress = Silent()

    interpreter = prepare_interpreter(found, progress=progress)

    assert interpreter.verifiers in case.verifiers, progress.said
    assert interpreter.generation == case.generation
    assert case.found_by in (None, interpreter.found_by), progress.said


@pytest.mark.slow
@pytest.mark.skipif(PYTHON_3_12 is None, reason="Python 3.12 is not on this machine")
def test_a_narrow_requires_python_takes_another_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(PYTHON_3_12 or "").parent))
    found = package(tmp_path, SINGLE_TURN, requires_python=">=3.12,<3.13")

    interpreter = prepare_interpreter(found, progress=Silent())

    assert interpreter.python_version.startswith("3.12.")


@pytest.mark.slow
def test_a_lock_from_one_run_makes_the_same_packages_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = package(tmp_path, SINGLE_TURN)
    lock = prepare_interpreter(found, progress=Silent()).lock
    assert lock is not None
    assert all(locked.sha256 for locked in lock.packages)

    monkeypatch.setenv("PRIME_HOME", str(tmp_path / "elsewhere"))
    again = prepare_interpreter(found, lock=lock, offline=True, progress=Silent())

    assert again.lock is not None
    assert again.lock.packages == lock.packages
