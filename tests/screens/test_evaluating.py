"""Evaluations and bundles at a real terminal: what they ask, and what they show on the way."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.envs.project.starters import mark_published
from tests.envs.bundles.conftest import publish_locked
from tests.helpers.cli import COMMAND, prime_process
from tests.helpers.hubs import open_hub
from tests.helpers.package_index import index
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.terminal import Terminal
from tests.helpers.vf_eval import saved_by_vf_eval
from tests.helpers.wild import TASKSET, Shape, write_project
from tests.screens.asking import answer
from tests.screens.watching import CURSOR_SHOWN, lines, watch

__all__ = ["index"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_terminal")]

ENDPOINTS = """
[[endpoint]]
endpoint_id = "parrot"
model = "scripted"
url = "{url}"
key = "EMPTY"
price = {{ input = 0, output = 500000 }}
"""
SUITE = """
num_examples = 2
rollouts_per_example = 1
[suite]
name = "nightly"
[[eval]]
env_id = "tiny-env"
model = "builtin/oracle"
"""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(latency=0.3) as scripted:
        yield scripted


@pytest.fixture
def here(tmp_path: Path, model: ScriptedModel) -> Path:
    """A folder with a project and a model that has a price."""
    write_project(tmp_path, Shape(dependencies=("verifiers>=0.1.14,<0.2",)))
    (tmp_path / "endpoints.toml").write_text(ENDPOINTS.format(url=model.url), encoding="utf-8")
    return tmp_path


RUN = ("eval", "run", "tiny-env", "-m", "parrot", "-n", "4", "-r", "1", "-c", "1")


def runs(folder: Path) -> list[Path]:
    return sorted(folder.glob("outputs/evals/*/*"))


def test_a_run_is_asked_about_interrupted_and_offered_again(here: Path) -> None:
    shown = ("Preparing an interpreter for tiny", "tiny-env with scripted")
    watch(*RUN[:6], "1", *RUN[7:], cwd=here, shown=shown)
    assert len(runs(here)) == 1

    with Terminal(*RUN, "--new", cwd=here) as terminal:
        terminal.wait_for(" 1/4 ")
        terminal.type("\x03")
        assert terminal.end() == 130, terminal.text
        assert terminal.is_clean
        assert CURSOR_SHOWN in terminal.written
        assert not any("0:00:" in line for line in terminal.text.splitlines()), terminal.text
        assert "Traceback" not in terminal.text
    unfinished = len(runs(here))
    assert unfinished == 2

    name = max(runs(here), key=lambda path: path.stat().st_mtime).name
    for keys in ("\x03", "\x04"):
        with Terminal(*RUN, cwd=here) as terminal:
            terminal.wait_for("[y/N]")
            terminal.type(keys)
            assert terminal.end() == 130, terminal.text
            assert terminal.is_clean
    assert len(runs(here)) == unfinished
    with Terminal(*RUN, cwd=here) as terminal:
        assert f"Run {name} of the same plan" in " ".join(terminal.wait_for("[y/N]").split())
        terminal.type("y\n")
        assert terminal.end() == 0, terminal.text
    assert len(runs(here)) == unfinished

    capped = (*RUN, "--new", "--max-cost", "1")
    asked = "This exceeds the remaining $1.00. Start, and stop there?"
    for keys in ("n\n", "\n", "\x04", "\x03"):
        told = answer(*capped, asked=asked, keys=keys, cwd=here, code=130)
        assert keys != "n\n" or "The run was not started" in told
    assert len(runs(here)) == unfinished
    with Terminal(*capped, cwd=here) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("y\n")
        assert terminal.end() == 3, terminal.text
    assert len(runs(here)) == unfinished + 1


def test_a_run_is_watched_from_another_terminal_and_verified(here: Path) -> None:
    long = (*RUN[:6], "2", "-r", "20", "-c", "1")
    # Not in a terminal of ours: what nobody reads there would hold it up.
    with subprocess.Popen(
        [*COMMAND, *long], cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        while not any(journal.stat().st_size for journal in here.rglob("journal.jsonl")):
            assert run.poll() is None
            time.sleep(0.1)
        watch("eval", "watch", cwd=here, shown="tiny-env with scripted")
        assert run.wait(60) == 0
    watch("eval", "verify", cwd=here, shown="Verifying the receipt", columns=40)


def test_checks_and_suites_show_what_they_run(here: Path) -> None:
    shown = ("Preparing an interpreter for tiny", "Checking tiny", "Attacking tiny")
    with Terminal("env", "check", "tiny-env", "--attack", cwd=here) as terminal:
        assert terminal.end() in (0, 1), terminal.text
        assert terminal.is_clean
    for words in shown:
        assert any(line.startswith(words) for line in lines(terminal)), words
        assert words not in terminal.text
    (here / "nightly.toml").write_text(SUITE, encoding="utf-8")
    with Terminal("eval", "run", "nightly.toml", cwd=here) as terminal:
        assert terminal.end() == 0, terminal.text
        assert terminal.is_clean
    bar = [line for line in lines(terminal) if line.startswith("tiny-env") and "0:0" in line]
    assert bar
    assert not any(line in terminal.text for line in bar)


@pytest.mark.network
def test_what_programs_of_verifiers_do_is_shown(tmp_path: Path) -> None:
    project = write_project(tmp_path, Shape(body=TASKSET, dependencies=("verifiers>=0.4,<0.5",)))
    watch(
        *("env", "check", "tiny-env", "--all-tasks"),
        cwd=tmp_path,
        shown="Checking every task",
        seconds=300,
    )
    words = ("env", "shell", "tiny-env", "--", "true")
    watch(*words, cwd=tmp_path, shown="Setting up example", seconds=300)
    run = saved_by_vf_eval(project, tmp_path)
    words = ("eval", "rescore", str(run), "--environment", str(project))
    watch(*words, cwd=tmp_path, shown="Scoring", seconds=300)
    prime_process("env", "init", "sums", "--v0", cwd=tmp_path)
    words = ("env", "migrate", "sums", "-n", "1")
    watch(*words, cwd=tmp_path, shown="Scoring with verifiers", seconds=300)


def test_a_bundle_shows_what_is_fetched_built_written_checked_and_unpacked(
    index: str, home: Path, tmp_path: Path
) -> None:
    data = home / ".prime" / "hub"
    mark_published(data)
    packages = {"verifiers": "0.1.14", "only-sources": "1.0"}
    publish_locked(open_hub(data), tmp_path, "tiny-env", packages)
    bundle = ("env", "bundle", "ada/tiny-env", "-o", "[b].bundle")
    made = ("Fetching packages", "Building only", "Writing [b].bundle")
    watch(*bundle, cwd=tmp_path, shown=made)
    shutil.rmtree(home / ".prime")
    watch("env", "inspect", "[b].bundle", cwd=tmp_path, shown="Checking [b].bundle")
    watch("env", "install", "[b].bundle", cwd=tmp_path, shown="Unpacking [b].bundle")
