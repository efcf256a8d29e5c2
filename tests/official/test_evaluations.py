"""Evaluations: pushed from the files of a run, listed, shown, paged through."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.progress import Silent
from prime_cli.evals.sharing.push import push_run
from prime_cli.evals.sharing.push_options import PushOptions
from prime_cli.evals.sharing.samples import rows_of_evaluation
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.vf_eval_writer import official_metadata, write_results
from tests.evals.sharing.pushing import change_environment
from tests.official.users import User, newer_releases
from tests.runs.rows import row
from tests.runs.saving import save_run

pytestmark = [pytest.mark.slow, newer_releases, pytest.mark.sample(1, "release")]

SAMPLES = [
    {
        "example_id": number,
        "rollout_number": 0,
        "prompt": [{"role": "user", "content": f"say {number}"}],
        "completion": [{"role": "assistant", "content": str(number)}],
        "answer": str(number),
        "reward": float(number % 2),
        "task": "default",
        "info": {"note": "ü"},
    }
    for number in range(5)
]


ROWS = [
    row(0, reward=1.0, metrics={"format": 1.0}, completion="a"),
    row(1, reward=0.5, metrics={"format": 1.0}, completion="b"),
]


def run_of_ours(cwd: Path, slug: str) -> RunFolder:
    """A finished run of our own with all of its files."""
    folder = save_run(cwd, *ROWS, planned=2, examples=2)
    change_environment(folder, ref=f"{slug}@1.2")
    manifest = load_manifest(folder.manifest)
    write_results(folder.journal, folder.results)
    metadata = official_metadata(manifest.plan, open_run(folder.path).summary())
    folder.metadata.write_text(json.dumps(metadata), encoding="utf-8")
    return folder


def write_run(folder: Path, slug: str, samples: list[dict[str, Any]] = SAMPLES) -> Path:
    """The two files that an evaluation leaves behind."""
    folder.mkdir(parents=True)
    metadata = {
        "env_id": slug,
        "model": "openai/gpt-4.1-mini",
        "num_examples": len(samples),
        "rollouts_per_example": 1,
        "sampling_args": {"max_tokens": 16},
        "avg_reward": 0.4,
        "avg_format": 1.0,
    }
    (folder / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    lines = "".join(json.dumps(sample) + "\n" for sample in samples)
    (folder / "results.jsonl").write_text(lines, encoding="utf-8")
    return folder


def push(user: User, run: Path, *options: str) -> str:
    """Push a run; the id that it got."""
    said = user.prime("eval", "push", str(run), *options).ok().out
    found = re.search(r"Evaluation ID: (\S+)", said)
    assert found, said
    return found[1]


def test_pushed_evaluation_is_listed_and_shown(user: User) -> None:
    ref = user.publish()
    evaluation = push(user, write_run(user.prime.home / "run", ref.slug))
    (listed,) = user.read("eval", "list")["evaluations"]
    assert listed["evaluation_id"] == evaluation
    assert listed["environment_names"] == [ref.slug]
    table = user.prime("eval", "list").ok().out
    assert evaluation in table
    assert "COMPLETED" in table
    shown = user.read("eval", "get", evaluation)
    assert shown["model_name"] == "openai/gpt-4.1-mini"
    assert shown["metrics"] == {"reward": 0.4, "format": 1.0}
    assert shown["metadata"]["num_examples"] == 5
    assert shown["is_public"] is False


def test_samples_are_paged_as_they_were_pushed(user: User) -> None:
    evaluation = push(user, write_run(user.prime.home / "run", user.publish().slug))
    whole = user.read("eval", "samples", evaluation)
    assert whole["total"] == 5
    assert [sample["example_id"] for sample in whole["samples"]] == list(range(5))
    assert {name: whole["samples"][3][name] for name in SAMPLES[3]} == SAMPLES[3]
    part = user.read("eval", "samples", evaluation, "--page", "3", "--num", "2")
    assert [sample["example_id"] for sample in part["samples"]] == [4]


def test_list_is_filtered_by_environment(user: User) -> None:
    for name in ("one-env", "two-env"):
        push(user, write_run(user.prime.home / name, user.publish(name).slug))
    for wanted in ("two-env", f"{user.slug}/two-env"):
        (found,) = user.read("eval", "list", "--env", wanted)["evaluations"]
        assert found["environment_names"] == [f"{user.slug}/two-env"]
    assert len(user.read("eval", "list", "--num", "1", "--page", "2")["evaluations"]) == 1


def test_pushing_into_an_evaluation_again_changes_its_name_and_doubles_nothing(user: User) -> None:
    run = write_run(user.prime.home / "run", user.publish().slug)
    evaluation = push(user, run)
    assert push(user, run, "--eval", evaluation, "--name", "renamed") == evaluation
    assert user.read("eval", "get", evaluation)["name"] == "renamed"
    assert user.read("eval", "samples", evaluation)["total"] == 5


def test_private_evaluation_is_not_found_by_others_and_a_public_one_is(
    user: User, stranger: User
) -> None:
    run = write_run(user.prime.home / "run", user.publish().slug)
    hidden, shown = push(user, run), push(user, run, "--public")
    for command in ("get", "samples"):
        refused = stranger.prime("eval", command, hidden)
        assert (refused.code, "404" in refused.out) == (1, True)
        stranger.prime("eval", command, shown).ok()
    assert hidden not in stranger.prime("eval", "list").ok().out


def test_folder_of_a_run_of_ours_is_pushed_with_the_same_mean(user: User, tmp_path: Path) -> None:
    folder = run_of_ours(tmp_path, user.publish(name="wordle", version="1.2").slug)
    evaluation = push(user, folder.path)
    shown = user.read("eval", "get", evaluation)
    ours = open_run(folder.path).summary()
    assert shown["avg_score"] == shown["metrics"]["reward"] == ours.reward.mean == 0.75
    assert shown["metrics"]["format"] == 1.0
    rows = list(rows_of_evaluation(user.hub, evaluation))
    assert [(row.example_id, row.rollout, row.reward) for row in rows] == [
        (row.example_id, row.rollout, row.reward) for row in ROWS
    ]


def test_what_our_client_has_pushed_is_read(user: User, tmp_path: Path) -> None:
    folder = run_of_ours(tmp_path, user.publish(name="wordle", version="1.2").slug)
    folder.log.write_text("loading\nit printed this\n", encoding="utf-8")
    pushed = push_run(
        user.hub, open_run(folder.path), PushOptions(), scrub=Scrubber({}), progress=Silent()
    )
    evaluation = pushed.evaluation_id
    (listed,) = user.read("eval", "list")["evaluations"]
    assert listed["evaluation_id"] == evaluation
    table = user.prime("eval", "list").ok().out
    assert "org/model" in table
    assert "2" in table
    assert user.read("eval", "get", evaluation)["avg_score"] == 0.75
    samples = user.read("eval", "samples", evaluation)["samples"]
    assert [sample["completion"] for sample in samples] == ["a", "b"]
    said = user.prime("eval", "logs", evaluation, "--tail", "1").ok().out
    assert "it printed this" in said
    assert "loading" not in said


def test_unknown_environment_is_refused_before_anything_is_made(user: User) -> None:
    refused = user.prime("eval", "push", str(write_run(user.prime.home / "run", "nobody/nothing")))
    assert (refused.code, "404" in refused.out) == (1, True)
    assert user.read("eval", "list")["evaluations"] == []
