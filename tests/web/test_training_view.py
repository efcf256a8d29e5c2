import json
from pathlib import Path

import msgspec
from starlette.testclient import TestClient

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
    sentence="the trained model is higher than the untrained",
)


def test_a_training_shows_its_curves_evaluations_rollouts_and_verdict(
    pages: TestClient, tmp_path: Path
) -> None:
    tested = save_run(tmp_path, *(row(n, reward=n % 2) for n in range(8)))
    facts = TrainingFacts(
        plan=TRAINING_PLAN,
        step=2,
        evaluations=(
            Evaluation(step=0, path=str(tested.path), reward=0.5),
            Evaluation(step=2, path="gone", reward=None),
        ),
        verdict=VERDICT,
    )
    done = [row(n, state={"step": n // 2}, completion=f"answer {n}") for n in range(4)]
    saved = save_run(tmp_path, *done, training=msgspec.to_builtins(facts))
    folder = tmp_path / "outputs" / "train" / "wordle--weights" / saved.run_id
    folder.parent.mkdir(parents=True)
    saved.path.rename(folder)
    steps = [
        {"step": n, "reward": n / 4, "kl": n / 100, "tokens_own": 50, "seconds": 2 + n}
        for n in range(3)
    ]
    lines = "".join(json.dumps(step) + "\n" for step in steps)
    (folder / METRICS).write_text(lines, encoding="utf-8")

    page = pages.get(f"/trainings/{saved.run_id}").text

    assert VERDICT.sentence in page
    assert "Mean reward: in training ends at 0.5, held out ends at 0.5" in page
    assert "KL divergence ends at 0.02" in page
    assert "Throughput ends at 12.5" in page
    assert f'href="/runs/{tested.run_id}"' in page
    assert "none" in page
    assert f"/runs/{saved.run_id}/rollouts/3.0" in page
    assert "answer 3" in page
    assert f"prime train show {saved.run_id}" in page
    assert f"/trainings/{saved.run_id}" in pages.get("/runs").text
