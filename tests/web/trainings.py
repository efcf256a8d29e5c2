"""A finished training with an evaluation, for tests of its page."""

import json
from pathlib import Path

import msgspec

from prime_cli.runs.folder import RunFolder
from prime_cli.training.record import Evaluation, TrainingFacts, Verdict
from prime_cli.training.trainer_events import METRICS
from tests.helpers.training import TRAINING_PLAN
from tests.runs.rows import row
from tests.runs.saving import save_run

VERDICT = Verdict(
    before=0.2,
    after=0.8,
    difference=0.6,
    interval=(0.4, 0.8),
    p=0.001,
    verdict="higher",
    sentence="the trained model scores higher than the untrained",
)


def save_training(cwd: Path, environments: tuple[str, ...] = ()) -> tuple[RunFolder, RunFolder]:
    """A training of three steps below `cwd`, and the run of the first of its two evaluations.

    Of several environments the evaluations are of the second.
    """
    tested = save_run(cwd, *(row(n, reward=n % 2) for n in range(8)))
    # As a training writes it: from its own folder.
    path = Path("..", "..", "..", tested.path.relative_to(cwd / "outputs")).as_posix()
    name = environments[1] if environments else None
    facts = TrainingFacts(
        plan=TRAINING_PLAN,
        step=2,
        evaluations=(
            Evaluation(step=0, path=path, reward=0.5, environment=name),
            Evaluation(step=2, path="gone", reward=None, environment=name),
        ),
        verdict=VERDICT,
        environments=environments,
    )
    done = [row(n, state={"step": n // 2}, completion=f"answer {n}") for n in range(4)]
    saved = save_run(cwd, *done, training=msgspec.to_builtins(facts))
    folder = cwd / "outputs" / "train" / "wordle--weights" / saved.run_id
    folder.parent.mkdir(parents=True)
    saved.path.rename(folder)
    for each in environments[1:]:
        other = save_run(cwd, *done)
        (folder / "environments").mkdir()
        other.path.rename(folder / "environments" / each)
    steps = [
        {
            "step": n,
            "reward": n / 4,
            "kl": n / 100,
            "loss": 1 / (n + 1),
            "length": 40 + n,
            "tokens_own": 50,
            "seconds": {"generate": 2 + n, "train": 1},
            "extra": {"clip_fraction": n / 10},
            "rewards": dict.fromkeys(environments, 0.25 + n / 4),
        }
        for n in range(3)
    ]
    lines = "".join(json.dumps(step) + "\n" for step in steps)
    (folder / METRICS).write_text(lines, encoding="utf-8")
    return RunFolder(folder), tested
