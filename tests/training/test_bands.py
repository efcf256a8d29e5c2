"""Training on what an earlier evaluation neither always nor never solved."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runs.plan import RunEnvironment
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.bands import find_band
from tests.helpers.environments import small_interpreter
from tests.helpers.training import TRAINED, train_scripted
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run
from tests.training.test_plan import prepared

SHARES = {0: (0, 0, 0, 0), 1: (1, 0, 0, 0), 2: (1, 1, 1, 0), 3: (1, 1, 1, 1), 4: (1, 0)}


def evaluation(folder: Path, **plan: Any) -> SavedRun:
    """A run whose examples are solved as SHARES say; example 5 has no reward at all."""
    environment = prepared("v0").plan.environment
    changed = msgspec.structs.replace(PLAN, environment=environment, **plan)
    rows = [
        row(example, rollout, reward=float(reward))
        for example, rewards in SHARES.items()
        for rollout, reward in enumerate(rewards)
    ]
    return open_run(save_run(folder, *rows, row(5, reward=None), plan=changed).path)


@pytest.mark.parametrize(
    ("solved", "examples"),
    [("0.1..0.9", (1, 2, 4)), ("0.25..0.5", (1, 4)), ("0..0", (0,)), ("0.9..1", (3,))],
)
def test_examples_are_chosen_by_their_mean_reward(
    solved: str, examples: tuple[int, ...], tmp_path: Path
) -> None:
    found = find_band(evaluation(tmp_path), prepared("v0"), solved, 1)
    assert found.examples == examples
    assert found.words.startswith(f"{len(examples)} of 5 examples, solved {solved} in ")


@pytest.mark.parametrize(
    ("plan", "solved", "least", "sentence"),
    [
        ({}, "0.1..0.9", 4, "too few for a step of 4 prompts"),
        ({}, "0.9..0.1", 1, "is no range of rewards"),
        ({}, "0.5", 1, "is no range of rewards"),
        ({}, "a..b", 1, "is no range of rewards"),
        ({"env_args": {"n": 2}}, "0..1", 1, "has other arguments of the environment"),
        ({"extra_args": {"n": 2}}, "0..1", 1, "has other arguments of the environment"),
        ({"options": {"split": "train"}}, "0..1", 1, "is of the split `train`, and `eval`"),
        ({"environment": RunEnvironment("other", "1", "other", "cd" * 32)}, "0..1", 1, "is of "),
    ],
)
def test_a_run_that_says_nothing_of_the_training_is_refused(
    plan: dict[str, Any], solved: str, least: int, sentence: str, tmp_path: Path
) -> None:
    own = plan.pop("environment", None)
    run = evaluation(tmp_path, **plan)
    if own is not None:
        other = msgspec.structs.replace(PLAN, environment=own)
        run = open_run(save_run(tmp_path, row(0), plan=other).path)
    with pytest.raises(UsageError, match=sentence):
        find_band(run, prepared("v0"), solved, least)


def test_only_the_examples_of_the_band_are_trained_on(tmp_path: Path) -> None:
    talker: Interpreter = small_interpreter(tmp_path, TRAINED)
    band = find_band(evaluation(tmp_path / "run"), prepared("v0"), "0.1..0.9", 1)
    trained = train_scripted(talker, tmp_path, steps=3, band=band, eval_examples=4)
    lines = (trained.folder / "journal.jsonl").read_bytes().splitlines()
    assert {msgspec.json.decode(line)["example_id"] for line in lines} == {1, 2, 4}
    assert dict(trained.result.facts.plan.lines())["Training"].endswith(band.words)
