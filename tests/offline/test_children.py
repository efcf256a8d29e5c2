"""What prime starts (uv, build backends, git, the worker) opens no socket offline either."""

import os
from pathlib import Path

import pytest

from tests.helpers.cli import prime_process
from tests.helpers.venvs import empty_cache
from tests.helpers.wild import Shape, write_project
from tests.offline.tracing import require_tracing, traced

pytestmark = pytest.mark.slow

_KEPT = ("PATH", "LANG", "TMPDIR", "PYENV_ROOT")


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """An empty folder on a machine where nothing was ever fetched, and its variables."""
    require_tracing()
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    fresh = {
        "HOME": str(tmp_path / "new"),
        "UV_CACHE_DIR": str(empty_cache(tmp_path / "new" / "uv")),
    }
    return folder, {**kept, **fresh, "PRIME_UPSTREAM": "https://upstream.invalid"}


def test_a_connection_would_be_seen(machine: tuple[Path, dict[str, str]]) -> None:
    folder, env = machine
    # Refused at once by this machine's kernel: nothing answers in TEST-NET-1 (RFC 5737).
    env |= {"PRIME_UPSTREAM": "http://192.0.2.1:9"}
    _, away = traced("env", "info", "ada/wordle", cwd=folder, env=env)
    assert set(away) == {"192.0.2.1"}


@pytest.mark.parametrize(
    "words",
    [
        "env build tiny",
        "env upload tiny",
        "env check tiny",
        "env install tiny",
        "eval run tiny -m builtin/echo",
        "env init fresh",
        "doctor",
    ],
)
def test_work_on_a_project_reaches_for_nothing(
    words: str, machine: tuple[Path, dict[str, str]]
) -> None:
    folder, env = machine
    # Its backend is not at hand, so that uv is asked for one.
    write_project(folder / "tiny", Shape(backend="setuptools"))
    result, away = traced(*words.split(), "--offline", cwd=folder, env=env)
    assert away == [], f"{result.out}{result.err}"


@pytest.mark.slow
def test_a_bundle_is_installed_and_evaluated_without_a_network(
    tmp_path: Path, machine: tuple[Path, dict[str, str]]
) -> None:
    file = tmp_path / "alphabet.bundle"
    prime_process("env", "bundle", "starter/alphabet-sort", "-o", str(file), timeout=600).ok()

    folder, env = machine
    installed, away = traced("env", "install", str(file), cwd=folder, env=env)
    installed.ok()
    assert away == []
    run = ("eval", "run", "starter/alphabet-sort", "--hub", "-m", "builtin/echo", "-n", "2")
    in_workspace, away = traced(*run, "--offline", "--output", "json", cwd=folder, env=env)
    assert in_workspace.ok().json["counts"]["errored"] == 0
    assert away == []
    (tmp_path / "bare").mkdir()
    isolated, away = traced(*run, "--offline", "--output", "json", cwd=tmp_path / "bare", env=env)
    assert isolated.ok().json["counts"]["errored"] == 0
    assert away == []
