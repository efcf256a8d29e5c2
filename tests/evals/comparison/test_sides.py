import json
from pathlib import Path

from prime_cli.evals.comparison.pairing import pair
from prime_cli.evals.comparison.sides import bare_name, side_of
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.vf_eval_writer import write_results
from tests.runs.rows import row
from tests.runs.saving import save_run

ASKED = [{"role": "user", "content": "say a"}]


def test_a_run_of_ours_tells_its_wheel_and_what_may_change_scores(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, 0, 0.5), row(0, 1, None), fingerprint="of the data")
    found = side_of(open_run(folder.path))
    assert (found.run, found.environment) == (folder.run_id, "ada/wordle@1.2")
    assert (found.sha256, found.fingerprint) == ("ab" * 32, "of the data")
    assert (found.rollouts, found.errors) == (2, 1)
    assert found.settings == {"sampling": {}, "arguments": {}}


def test_a_folder_as_vf_eval_writes_it_pairs_with_the_run_that_it_is_of(tmp_path: Path) -> None:
    rows = [row(i, j, float(i == j), prompt=ASKED, answer=str(i)) for i in (0, 1) for j in (0, 1)]
    folder = save_run(tmp_path, *rows)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    write_results(folder.journal, theirs / "results.jsonl")
    metadata = {"env_id": "wordle", "model": "m", "num_examples": 2, "rollouts_per_example": 2}
    (theirs / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    ours, other = side_of(open_run(folder.path)), side_of(open_run(theirs))
    assert (other.sha256, other.model) == (None, "m")
    found = pair(ours, other)
    assert (list(found.ids), found.differences) == ([0, 1], [0.0, 0.0])


def test_owner_version_and_spelling_do_not_make_another_environment() -> None:
    assert bare_name("ada/My_Env@1.2") == bare_name("my-env") == "my-env"
