from pathlib import Path

from starlette.testclient import TestClient

from tests.web.trainings import VERDICT, save_training


def test_a_training_shows_its_curves_evaluations_rollouts_and_verdict(
    pages: TestClient, tmp_path: Path
) -> None:
    saved, tested = save_training(tmp_path)

    page = pages.get(f"/trainings/{saved.run_id}").text

    assert VERDICT.sentence in page
    assert "Mean reward: in training ends at 0.5, held out ends at 0.5" in page
    assert "KL divergence: ends at 0.02" in page
    assert "Loss: ends at 0.3333" in page
    assert "Tokens of an answer: ends at 42" in page
    assert "Clip fraction: ends at 0.2" in page
    assert "Throughput: ends at 12.5" in page
    assert f'href="/runs/{tested.run_id}"' in page
    assert "none" in page
    assert f"/runs/{saved.run_id}/rollouts/3.0" in page
    assert "answer 3" in page
    assert f"prime train show {saved.run_id}" in page
    assert f"/trainings/{saved.run_id}" in pages.get("/runs").text
