import json
from pathlib import Path

import pytest

from prime_cli.envs.project.scaffold import TemplateKind, plan_scaffold, write_scaffold
from prime_cli.evals.env_check.migrate import MigrationOutcome, compare_runs
from prime_cli.evals.env_check.probe_run import ProbeRun
from prime_cli.models.gateway.oracle import OracleProbe
from prime_cli.runtime.protocol import Rollout, RolloutError
from tests.envs.migration.projects import PLAIN, migrated, write_project
from tests.envs.migration.test_v1_project import JUDGED
from tests.helpers.cli import Result, prime_process

PROMPT = [{"role": "user", "content": "1 + 1"}]
EMPTY = RolloutError(kind="model", type="EmptyModelResponseError", message="no content")
RAISED = RolloutError(kind="environment", type="KeyError", message="'x'", in_scoring=True)


def rollout(reward: float | None, error: RolloutError | None = None, **changes: object) -> Rollout:
    known = {"metrics": {"right": reward, "num_turns": 1.0}, "prompt": PROMPT, **changes}
    return Rollout(example_id=0, rollout=0, reward=reward, error=error, **known)  # type: ignore[arg-type]


def differing(old: Rollout, new: Rollout | None) -> tuple[str, ...]:
    key = (0, OracleProbe.GOLD)
    first, second = ProbeRun(rows={key: old}), ProbeRun(rows={key: new} if new else {})
    (found,) = compare_runs(first, second, ["right"])
    return found.differing


def test_rewards_and_functions_are_compared() -> None:
    assert differing(rollout(1.0), rollout(1.0)) == ()
    assert differing(rollout(1.0), rollout(0.5)) == ("reward", "right")
    assert differing(rollout(1.0), rollout(1.0, metrics={"right": 0.0})) == ("right",)


def test_what_verifiers_itself_counts_is_not_compared() -> None:
    assert differing(rollout(1.0), rollout(1.0, metrics={"right": 1.0})) == ()


def test_another_prompt_differs() -> None:
    asked = [{"role": "system", "content": "Add."}, *PROMPT]
    assert differing(rollout(1.0), rollout(1.0, prompt=asked)) == ("prompt",)


def test_a_rollout_that_v1_lacks_differs() -> None:
    assert differing(rollout(1.0), None) == ("prompt",)


def test_a_reward_that_raises_in_one_form_only_differs() -> None:
    assert differing(rollout(1.0), rollout(None, RAISED)) == ("reward", "right")
    assert differing(rollout(None, RAISED), rollout(0.0)) == ("reward",)
    assert differing(rollout(None, RAISED), rollout(None, RAISED)) == ()


def test_a_rollout_that_v0_does_not_score_says_nothing() -> None:
    assert differing(rollout(None, EMPTY), rollout(0.0)) == ()


def test_rewards_that_are_all_the_same_prove_little() -> None:
    rows = {(0, probe): rollout(0.0) for probe in OracleProbe}
    rows[0, OracleProbe.EMPTY] = rollout(None, EMPTY)
    run = ProbeRun(rows=rows)
    assert not MigrationOutcome("", (), compare_runs(run, run, ["right"]), ("", "")).tells_apart
    rows[0, OracleProbe.GOLD] = rollout(1.0)
    assert MigrationOutcome("", (), compare_runs(run, run, ["right"]), ("", "")).tells_apart


def migrate(project: Path, *words: str) -> Result:
    return prime_process("env", "migrate", str(project), *words, cwd=project.parent, timeout=600)


def test_a_judge_at_an_address_of_its_own_is_named(tmp_path: Path) -> None:
    source = JUDGED.replace("AsyncOpenAI(", "AsyncOpenAI(base_url='https://judge.example/v1', ")
    _, found = migrated(tmp_path / "sums", source)
    assert found.judge is not None
    assert found.judge.address == "'https://judge.example/v1'"
    _, other = migrated(tmp_path / "others", JUDGED)
    assert other.judge is not None
    assert other.judge.address is None


def test_a_folder_that_exists_is_refused_at_once(tmp_path: Path) -> None:
    project = write_project(tmp_path / "sums", PLAIN)
    (tmp_path / "sums-v1").mkdir()
    done = migrate(project)
    assert (done.code, "sums-v1 exists already" in done.err) == (7, True)


def test_what_cannot_be_migrated_is_named_by_line_and_nothing_is_written(tmp_path: Path) -> None:
    source = PLAIN.replace("SingleTurnEnv", "EnvGroup")
    done = migrate(write_project(tmp_path / "sums", source))
    assert done.code == 2
    assert "sums.py:15: `EnvGroup` has no v1 form that this command writes" in done.err
    assert not (tmp_path / "sums-v1").exists()


@pytest.mark.slow
@pytest.mark.sample(1, "kind")
@pytest.mark.parametrize("kind", [TemplateKind.SINGLE_TURN, TemplateKind.TOOL])
def test_a_template_of_v0_is_migrated_with_equal_rewards(
    kind: TemplateKind, tmp_path: Path
) -> None:
    plan = plan_scaffold("my-env", tmp_path, kind=kind, v0=True)
    write_scaffold(plan)
    done = migrate(plan.root, "-n", "2", "--path", str(tmp_path / "new"), "--output", "json")
    assert done.code == 0, done.err
    page = json.loads(done.out)
    assert page["equal"]
    assert {each["v0"] for each in page["compared"] if each["answer"] == "gold"} == {1.0}
    assert page["releases"][1].startswith("0.4")


@pytest.mark.slow
def test_a_form_that_is_not_equal_is_said_to_be_none(tmp_path: Path) -> None:
    told = PLAIN.replace("float(answer in", "float(__name__ == 'sums' and answer in")
    done = migrate(write_project(tmp_path / "sums", told), "-n", "1")
    assert done.code == 1
    assert "sums-v1 is not equal to its v0 form" in done.err
    assert "differ: reward, right" in done.out


@pytest.mark.slow
def test_a_judge_is_asked_the_same_in_both_forms(tmp_path: Path) -> None:
    done = migrate(write_project(tmp_path / "sums", JUDGED), "-n", "4", "--output", "json")
    assert done.code == 0, done.err
    assert "Its judge is not asked: both forms get the same made-up verdicts" in done.err
    assert "leaves out of the judge's prompt" in done.err
    rewards = {each["v0"] for each in json.loads(done.out)["compared"]}
    assert rewards >= {0.0, 0.5}


@pytest.mark.slow
def test_a_judge_that_is_asked_otherwise_gives_other_rewards(tmp_path: Path) -> None:
    changed = JUDGED.replace("await judge(prompt,", "await judge(prompt if v1 else 'else',")
    changed = changed.replace("PROMPT = ", "v1 = __name__ != 'sums'\nPROMPT = ")
    done = migrate(write_project(tmp_path / "sums", changed), "-n", "4")
    assert (done.code, "is not equal to its v0 form" in done.err) == (1, True)
