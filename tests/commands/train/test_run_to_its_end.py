"""`prime train` from the command to its end, by an engine without weights."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from prime_cli.commands.train.saved import best_lines, evaluation_lines, refill_lines
from prime_cli.runs.folder import RunFolder
from prime_cli.training.record import Evaluation, TrainingFacts, Verdict, count_refilled
from tests.helpers.cli import Prime, Result
from tests.helpers.scripted_model import Reply, ScriptedModel
from tests.helpers.training import JUDGED, SCRIPTED, TRAINED, TRAINING_PLAN
from tests.helpers.wild import write_wheel
from tests.runtime.worker.runs import SMALL_LIBRARIES

JUDGE = """
[[endpoint]]
endpoint_id = "judge"
model = "judge"
url = "{url}"
key = "EMPTY"
price = {{input = 0.0, output = 10000.0}}
"""
FAILS = TRAINED.replace(
    "    def same(completion, answer, **kwargs):\n",
    """    def same(completion, answer, **kwargs):
        if int(answer.split()[-1]) % 2:
            raise RuntimeError("no luck")
""",
)
"""The same, whose every second example fails: one of the two in a step."""
STEPS = ("--steps", "6", "-r", "4", "--batch", "2", "--save-every", "1", "--eval-examples", "0")


@pytest.fixture
def small_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv installs the small verifiers and openai from a folder, as one release of verifiers."""
    folder = tmp_path / "wheels"
    files = {
        str(path.relative_to(library)): path.read_text(encoding="utf-8")
        for library in map(Path, SMALL_LIBRARIES)
        for path in sorted(library.rglob("*.py"))
    }
    write_wheel(folder, files, name="verifiers", version="0.1.14", requires=())
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_NO_INDEX", "1")


def train(prime: Prime, tmp_path: Path, source: str, *words: str) -> Result:
    wheel = write_wheel(tmp_path / "environment", {"tiny_env.py": source})
    engine = ("--engine", str(SCRIPTED))
    return prime("train", str(wheel), "-m", "some/model", *engine, *STEPS, *words, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("small_libraries")
def test_the_cap_of_its_judges_stops_a_training_and_a_higher_one_continues_it(
    prime: Prime, tmp_path: Path
) -> None:
    tell = ("--notify", 'cat > told.json; echo "$PRIME_RUN_STATUS" >> told')
    without_data = train(prime, tmp_path, JUDGED, *tell)
    assert without_data.code == 2, without_data.err
    assert "`--split eval`" in without_data.err
    for folder in (tmp_path / "outputs" / "train").glob("*/*"):
        shutil.rmtree(folder)

    used = {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15}
    with ScriptedModel(lambda _: Reply("yes", usage=used)) as judge:
        registry = tmp_path / "endpoints.toml"
        registry.write_text(JUDGE.format(url=judge.url), encoding="utf-8")
        # A call costs 10 cents, and a step has 8 of them.
        limits = ("--split", "eval", "-e", str(registry), "--max-cost", "2")
        capped = train(prime, tmp_path, JUDGED, *limits, *tell)
        assert capped.code == 3, capped.err
        assert "The cap of $2.00 is reached" in capped.err
        (folder,) = (tmp_path / "outputs" / "train").glob("*/*")
        assert f"prime train --resume {folder.name} --max-cost USD" in capped.err
        assert "the last checkpoint is" in capped.err
        asked = len(judge.requests)
        assert 20 <= asked < 6 * 8
        more = ("--resume", folder.name, "--max-cost", "50")
        done = prime("train", *more, *tell, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "6 of 6" in done.out
    assert (tmp_path / "told").read_text("utf-8").split() == ["failed", "capped", "finished"]
    shown = prime("train", "show", folder.name, "-o", "json", cwd=tmp_path).ok().json
    assert json.loads((tmp_path / "told.json").read_text("utf-8")) == shown
    assert asked < len(judge.requests)


@pytest.mark.slow
@pytest.mark.usefixtures("small_libraries")
def test_failed_rollouts_are_counted_with_their_commonest_error_and_limited(
    prime: Prime, tmp_path: Path
) -> None:
    # After a third step a training may end by itself, without a group of two rewards.
    words = ("--split", "eval", "--output", "json", "--steps", "2")
    done = train(prime, tmp_path, FAILS, *words)
    assert done.code == 3, done.err
    failed = json.loads(done.out)["failed"]
    assert (failed["failed"], failed["finished"]) == (8, 16)
    counts = "8 of 16 rollouts"
    assert f"{counts} failed, more than the 20% of `--max-error-rate`" in done.err
    assert "no luck" in failed["common"]
    (folder,) = (tmp_path / "outputs" / "train").glob("*/*")
    shown = prime("train", "show", str(folder)).ok().out
    assert counts in shown
    assert "most often" in shown
    assert train(prime, tmp_path, FAILS, *words, "--max-error-rate", "0.9").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("small_libraries")
def test_an_id_finds_a_training_under_the_output_dir_that_it_was_begun_with(
    prime: Prime, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    done = train(prime, tmp_path, TRAINED, "--split", "eval", "--output-dir", "kept")
    assert done.code == 0, done.err
    (folder,) = (kept / "train").glob("*/*")
    for cwd in (tmp_path, tmp_path / "environment"):
        assert "6 of 6" in prime("train", "show", folder.name[:6], cwd=cwd).ok().out
        assert "is finished" in prime("train", "--resume", folder.name, cwd=cwd).err
        assert (
            f"No local training `{folder.name}"
            not in prime("train", "stop", folder.name, cwd=cwd).err
        )
    shutil.rmtree(kept)
    assert "No local training" in prime("train", "show", folder.name, cwd=tmp_path).err


def test_rewards_and_difference_are_of_the_same_examples() -> None:
    verdict = Verdict(
        before=0.25,
        after=0.75,
        difference=0.5,
        interval=None,
        p=0.01,
        verdict="higher",
        sentence="better",
        examples=47,
        held_out=50,
    )
    solved = {3: {"pass@2": 0.95}}
    evaluations = [
        Evaluation(step=step, path="p", reward=0.9, pass_at=solved.get(step, {}))
        for step in (0, 3, 6)
    ]
    facts = TrainingFacts(plan=TRAINING_PLAN, evaluations=tuple(evaluations), verdict=verdict)
    lines = dict(evaluation_lines(facts))
    assert [lines[f"Reward at {step}"] for step in (0, 3, 6)] == [
        *("0.25", "0.9 (pass@2 0.95)", "0.75"),
    ]
    assert lines["Difference"].endswith("p 0.01, over 47 of 50 examples")


def test_the_best_of_several_evaluated_steps_is_told_with_its_checkpoint(tmp_path: Path) -> None:
    rewards = {0: 0.95, 3: 0.5, 6: 0.9, 9: 0.9, 12: 0.7, 15: None}
    evaluations = [Evaluation(step=step, path="p", reward=each) for step, each in rewards.items()]
    facts = TrainingFacts(plan=TRAINING_PLAN, evaluations=tuple(evaluations))
    folder = RunFolder(tmp_path)
    assert facts.best == 6
    assert best_lines(folder, facts) == []
    (tmp_path / "checkpoints" / "6").mkdir(parents=True)
    ((label, path),) = best_lines(folder, facts)
    assert (label, path.endswith("checkpoints/6")) == ("Best checkpoint", True)
    alone = TrainingFacts(plan=TRAINING_PLAN, evaluations=tuple(evaluations[:3:2]))
    assert best_lines(folder, alone) == []


def test_the_end_says_how_many_groups_were_replaced(tmp_path: Path) -> None:
    counts = [(0, 0, 0), (3, 3, 0), (5, 2, 1)]
    names = ("dropped", "replaced", "refill_short")
    lines = [
        {"step": step, "extra": dict(zip(names, each, strict=True))}
        for step, each in enumerate(counts, start=1)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "metrics.jsonl").write_text(text, encoding="utf-8")
    plan = msgspec.structs.replace(TRAINING_PLAN, refill=4)
    found = count_refilled(RunFolder(tmp_path), TrainingFacts(plan=plan, step=3))
    words = "5 of 8 groups without spread; the bound left some in 1 step"
    assert refill_lines(found) == [("Refilled", words)]
    without = count_refilled(RunFolder(tmp_path), TrainingFacts(plan=TRAINING_PLAN, step=3))
    assert refill_lines(without) == []
