"""Tasksets that verifiers itself brings, by their names."""

import json
import os
from pathlib import Path

import pytest

from prime_cli.envs.bundled import BUNDLED, bundled_name, bundled_project
from prime_cli.envs.project.folder import load_project
from tests.helpers.cli import prime_process

WORDS = "able acid baby back card care dark data each ears face fact game gave"
SECONDS = 600


def test_each_is_a_project_that_requires_its_extra(tmp_path: Path) -> None:
    for name, taskset in BUNDLED.items():
        folder = bundled_project(name.replace("_", "-"), tmp_path)
        assert folder is not None
        project = load_project(folder)
        assert (project.module, bundled_name(project.module)) == (f"verifiers_{name}", name)
        extra = f"[{taskset.extra}]" if taskset.extra else ""
        assert project.dependencies == (f"verifiers{extra}>=0.4",)


def test_other_names_have_no_project(tmp_path: Path) -> None:
    assert bundled_project("wordle", tmp_path) is None
    assert bundled_name("my_env") == "my_env"


@pytest.mark.slow
@pytest.mark.network
def test_a_game_is_played_by_its_name(tmp_path: Path) -> None:
    corpus = tmp_path / "nltk" / "corpora" / "words"
    corpus.mkdir(parents=True)
    for name in ("en", "en-basic"):
        (corpus / name).write_text(WORDS.replace(" ", "\n") + "\n", encoding="utf-8")
    flags = "--env.taskset.game Hangman-v0 --env.player.max-turns 2 --env.player.harness.id null"
    done = prime_process(
        *("eval", "run", "textarena", "-m", "builtin/echo", "-n", "2", "-r", "1"),
        *(*flags.split(), "--output", "json"),
        cwd=tmp_path,
        env={**os.environ, "NLTK_DATA": str(tmp_path / "nltk")},
        timeout=SECONDS,
    )
    assert done.code == 0, done.err
    assert "`textarena` is verifiers' own taskset; one on a hub is OWNER/textarena" in done.err
    counts = json.loads(done.out)["counts"]
    assert (counts["planned"], counts["scored"], counts["truncated"]) == (2, 2, 2)


@pytest.mark.slow
@pytest.mark.network
def test_an_environment_around_a_taskset_is_chosen_by_its_id(tmp_path: Path) -> None:
    prime_process("env", "init", "my-env", cwd=tmp_path, timeout=SECONDS)
    done = prime_process(
        *("eval", "run", "my-env", "-m", "builtin/oracle", "-n", "1", "-r", "1"),
        *("--env.id", "best_of_n", "--output", "json"),
        cwd=tmp_path,
        timeout=SECONDS,
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["metrics"]["agent#4/reward"]["mean"] == 1.0
