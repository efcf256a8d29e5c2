from pathlib import Path

from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import run_worker, small_spec


def test_what_the_environments_own_code_warns_of_is_told_once(
    model: ScriptedModel, log: Path
) -> None:
    said = run_worker(small_spec(model, "warns"), log)
    assert said.ended.ok
    assert said.cautions == [
        "data.json not found. Using synthetic dataset for testing",
        "only 3 of 100 rows",
        "of mine, by another's logger",
        "the split is deprecated",
        "no judge:\x1b[31m guessing\n twice",
    ]
    written = log.read_text(encoding="utf-8")
    assert "loading 3 rows" in written
    assert "only 3 of 100 rows" in written


def test_what_verifiers_logs_is_not_the_environments(model: ScriptedModel, log: Path) -> None:
    said = run_worker(small_spec(model, args={"trouble": "metric"}), log)
    assert said.cautions == []
