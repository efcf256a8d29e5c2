"""Work that takes a while is shown while it is done, and leaves nothing behind."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.envs.project.starters import mark_published
from prime_cli.models.serving.engines import ENGINES, EngineName
from tests.helpers.cli import Prime, prime_process
from tests.helpers.hubs import open_hub, publish
from tests.helpers.hugging_face import HuggingFace
from tests.helpers.prime_rl import fake_checkout
from tests.helpers.real_model import use_smollm2
from tests.helpers.served import served_hub
from tests.helpers.terminal import Terminal
from tests.helpers.wheelhouse import package, wheelhouse
from tests.helpers.wild import write_project
from tests.models.serving.scripted_engine import install_engine
from tests.runs.rows import row
from tests.runs.saving import save_parts, save_run, save_trajectory
from tests.screens.watching import CURSOR_SHOWN, lines, watch

__all__ = ["wheelhouse"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_terminal")]

TALKING = """
from prime_cli.terminal.output import Output

output = Output()
with output.progress.task("Talking", total=500, unit="rollouts") as task:
    task.advance(30)
    output.warn(
        "This is a sentence of more than forty columns",
        hint="try `prime env list --installed` next",
    )
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A hub behind a socket, with ada/tiny-env on it."""
    with served_hub(tmp_path / "hub") as url:
        monkeypatch.setenv("PRIME_API_BASE_URL", url)
        yield url


@pytest.fixture
def box(home: Path, tmp_path: Path) -> Path:
    """A folder to work in; on the hub in the box are two versions of `ada/tiny-env`."""
    data = home / ".prime" / "hub"
    mark_published(data)
    client = open_hub(data)
    for version in ("0.1.0", "0.2.0"):
        publish(client, tmp_path / "projects", version=version, requires=())
    publish(client, tmp_path / "projects", "wordle", version="1.2", requires=())
    here = tmp_path / "here"
    here.mkdir()
    return here


def test_building_is_shown(tmp_path: Path) -> None:
    write_project(tmp_path)
    watch("env", "build", "tiny-env", "--no-check", cwd=tmp_path, shown="Building tiny-env")


def test_the_first_command_says_what_it_prepares(tmp_path: Path) -> None:
    watch("env", "list", cwd=tmp_path, shown="Preparing the starter environments")


def test_uploads_and_downloads_show_their_bytes(hub: str, prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    wheel = "tiny_env-0.1.0-py3-none-any.whl"
    watch("env", "upload", "tiny-env", "--no-check", cwd=tmp_path, shown=f"Uploading {wheel}")
    seen = watch("env", "pull", "ada/tiny-env", cwd=tmp_path, shown="Downloading").seen
    assert any(" B/" in screen or "kB/" in screen for screen in seen)


def test_the_steps_of_an_installation_are_shown(box: Path) -> None:
    install = ("env", "install", "ada/tiny-env@0.1.0")
    watch(*install, cwd=box, shown="Installing tiny_env")
    watch(*install[:2], "ada/tiny-env@0.2.0", cwd=box, shown="Importing tiny_env")
    watch(*install[:2], "ada/wordle", "--dry-run", cwd=box, shown="Resolving packages")
    watch("env", "lock", "ada/tiny-env@0.1.0", cwd=box, shown="Locking", columns=40)
    watch("env", "outdated", cwd=box, shown="Asking the hub", columns=40)
    two = ("ada/tiny-env@0.1.0", "ada/tiny-env@0.2.0")
    watch("env", "diff", *two, cwd=box, shown="Comparing", columns=40)
    watch("cache", "verify", cwd=box, shown="Verifying", columns=40)
    watch("cache", "prune", "--all", cwd=box, shown="Removing", columns=40)


def test_what_is_done_with_runs_is_shown(box: Path) -> None:
    one, two = (
        save_run(box, row(0, reward=reward), row(1, reward=1.0), planned=2).run_id
        for reward in (0.0, 1.0)
    )
    pushed = watch("eval", "push", one, "-o", "json", cwd=box, shown="Pushing samples")
    evaluation = pushed.text.partition('"evaluation_id": "')[2].partition('"')[0]
    watch(
        *("eval", "get", evaluation, "--save", "--force"), cwd=box, shown=f"Fetching {evaluation}"
    )
    watch("eval", "show", two, cwd=box, shown=f"Reading {two}")
    watch("eval", "search", "a", cwd=box, shown="Searching", columns=40)
    watch("eval", "gate", two, "--fail-under", "0.1", cwd=box, shown=f"Reading {two}")
    watch("eval", "compare", one, two, cwd=box, shown="Comparing", columns=40)
    watch("eval", "power", one, "-d", "0.1", "--icc", "0.5", cwd=box, shown="Planning", columns=40)
    watch("eval", "export", one, "--force", cwd=box, shown="Exporting", columns=40)
    save_trajectory(box / "log")
    watch("eval", "import", "log", cwd=box, shown="Importing", columns=40)
    save_parts(box / "parts", 2)
    watch("eval", "merge", "parts", cwd=box, shown="Merging the parts", columns=40)


def test_a_push_to_the_hugging_face_hub_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_run(tmp_path, row(0, 0, 1.0), examples=1)
    monkeypatch.setenv("HF_TOKEN", "hf_key")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    with HuggingFace() as there:
        monkeypatch.setenv("HF_ENDPOINT", there.url)
        shown = "Pushing to the Hugging Face Hub"
        terminal = watch("eval", "export", "-H", cwd=tmp_path, shown=shown)
    assert "hf_key" not in "".join(terminal.seen)


def test_looking_at_this_machine_is_shown(tmp_path: Path) -> None:
    with Terminal("doctor", "--offline", cwd=tmp_path, columns=40) as terminal:
        assert terminal.end() in (0, 1), terminal.text
        assert terminal.is_clean
    assert any(line.startswith("Checking this machine") for line in lines(terminal))
    assert "Checking" not in terminal.text


def test_what_a_hub_is_copied_moved_and_cleaned_by_is_shown(box: Path, home: Path) -> None:
    data = str(home / ".prime" / "hub")
    copying = ("Copying tables", "Copying blobs")
    watch("hub", "backup", "copy", "--data", data, cwd=box, shown=copying)
    restoring = ("Restoring tables", "Restoring blobs")
    watch("hub", "restore", "copy", "--data", "new", cwd=box, shown=restoring, columns=40)
    watch("hub", "gc", "--data", "new", cwd=box, shown="Looking through the blobs", columns=40)
    watch("hub", "migrate", "--data", "new", cwd=box, shown="Migrating", columns=40)


def test_messages_above_a_bar_are_complete_on_a_narrow_terminal(tmp_path: Path) -> None:
    program = (sys.executable, "-c", TALKING)
    with Terminal(cwd=tmp_path, columns=40, program=program) as terminal:
        assert terminal.end() == 0, terminal.text
        assert terminal.is_clean
    assert terminal.text.splitlines() == [
        "warning: This is a sentence of more than",
        "  forty columns",
        "hint: try `prime env list --installed`",
        "  next",
    ]
    assert any("30/500" in line and "Talking" in line for line in lines(terminal))


@pytest.mark.parametrize("variable", ["TERM=dumb", "CI=true"])
def test_where_nothing_can_be_drawn_nothing_is(variable: str, tmp_path: Path) -> None:
    write_project(tmp_path)
    name, _, value = variable.partition("=")
    argv = ("env", "build", "tiny-env", "--no-check")
    with Terminal(*argv, cwd=tmp_path, env={name: value, "NO_COLOR": ""}) as terminal:
        assert terminal.end() == 0, terminal.text
        assert "Built" in terminal.text
    assert b"\r\x1b" not in terminal.written
    assert CURSOR_SHOWN not in terminal.written
    if name == "TERM":
        assert b"\x1b" not in terminal.written


def test_without_colour_a_bar_has_none(tmp_path: Path) -> None:
    write_project(tmp_path)
    terminal = watch("env", "build", "tiny-env", "--no-check", cwd=tmp_path, shown="Building")
    assert b"\x1b[3" not in terminal.written  # the tests' environment has NO_COLOR


def test_without_a_terminal_and_when_quiet_there_are_no_bars(tmp_path: Path) -> None:
    write_project(tmp_path)
    argv = ("env", "build", "tiny-env", "--no-check")
    assert "\x1b" not in prime_process(*argv, cwd=tmp_path, merged=True).ok().out
    with Terminal(*argv, "-q", cwd=tmp_path) as terminal:
        assert terminal.end() == 0
    assert b"\x1b" not in terminal.written


def test_ctrl_c_takes_the_bar_away_and_gives_the_cursor_back(tmp_path: Path) -> None:
    write_project(tmp_path)
    with Terminal("env", "build", "tiny-env", "--no-check", cwd=tmp_path) as terminal:
        terminal.wait_for("Building tiny-env")
        terminal.type("\x03")
        assert terminal.end() == 130, terminal.text
        assert terminal.is_clean
    assert CURSOR_SHOWN in terminal.written
    assert "Building" not in terminal.text
    assert "Traceback" not in terminal.text
    assert not list(tmp_path.rglob("*.whl"))


def test_updating_prime_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("git", "uv"):
        (tmp_path / name).write_text("#!/bin/sh\nsleep 0.5\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    watch("update", "--yes", cwd=tmp_path, shown="Updating prime")


@pytest.mark.parametrize("way", ["dies", "ends"])
def test_starting_an_engine_is_shown(tmp_path: Path, way: str) -> None:
    python = install_engine(tmp_path / "engine", "transformers", way)
    words = ("serve", "some/model", "--port", "0", "--engine-python", str(python))
    watch(*words, cwd=tmp_path, shown="Starting transformers", code=9)


def test_the_steps_of_a_training_are_shown(tmp_path: Path) -> None:
    program = (sys.executable, "-m", "tests.helpers.training", str(tmp_path))
    with Terminal(program=program) as terminal:
        assert terminal.end() == 0, terminal.text
    shown = [line for line in lines(terminal) if line.startswith("tiny-env with weights")]
    assert any(f" {step}/6 " in line for line in shown for step in range(1, 6)), shown
    assert "tiny-env with weights" not in terminal.text


def test_the_dry_run_of_prime_rl_is_shown(tmp_path: Path, wheelhouse: Path) -> None:
    source = "import verifiers.v1 as vf\n\nclass Letters(vf.Taskset): ...\n"
    letters = package(tmp_path, source, name="letters", requires=("verifiers>=0.4",)).path
    checkout = str(fake_checkout(tmp_path / "prime-rl"))
    words = ("train", str(letters), "-m", "some/model", "--engine", "prime-rl", "--dry-run")
    shown = "Checking the file with prime-rl's own dry run"
    watch(*words, "--engine-dir", checkout, cwd=tmp_path, shown=shown)


def test_installing_an_engine_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    watch("serve", "some/model", cwd=tmp_path, shown="Installing transformers", code=9)


@pytest.mark.slow
@pytest.mark.network
def test_the_steps_to_a_real_model_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_smollm2(monkeypatch, ENGINES[EngineName.TRANSFORMERS])
    shown = tuple(f"{verb} builtin/smollm2" for verb in ("Fetching", "Converting", "Starting"))
    words = ("eval", "run", "starter/sort-names", "-m", "builtin/smollm2")
    watch(*words, "-n", "1", "-r", "1", "-t", "8", cwd=tmp_path, shown=shown, seconds=900)
