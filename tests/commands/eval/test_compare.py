import sys
from pathlib import Path

import msgspec
import pytest

from prime_cli.core.installation import install_command
from prime_cli.runs.rows import Row
from tests.helpers.cli import Prime
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run

QUESTION = [{"role": "user", "content": "say a"}]


def save(cwd: Path, model: str, rewards: str, *, env: str = "wordle", sha: str = "ab" * 32) -> str:
    """A run with a rollout for each letter: 1, 0, or x for an error; its id."""
    facts = msgspec.structs.replace(PLAN.environment, name=env, ref=f"ada/{env}@1.2", sha256=sha)
    rows: list[Row] = [
        row(i, 0, None if letter == "x" else float(letter), prompt=QUESTION, answer=str(i))
        for i, letter in enumerate(rewards)
    ]
    plan = msgspec.structs.replace(PLAN, model=model, environment=facts)
    return save_run(cwd, *rows, plan=plan, planned=len(rows)).run_id


def test_two_runs_are_compared_example_by_example(prime: Prime, tmp_path: Path) -> None:
    a, b = save(tmp_path, "small", "0" * 9 + "1"), save(tmp_path, "large", "1" * 9 + "0")
    shown = prime("eval", "compare", a, b, "--output", "json", cwd=tmp_path).ok().json
    (found,) = shown["comparisons"]
    assert found["difference"] == 0.8
    assert found["test"] == "exact McNemar"
    assert found["verdict"] == "higher"
    assert found["p"] == pytest.approx(0.0215, abs=1e-4)
    assert {flip["example_id"] for flip in found["flips"]} == set(range(10))
    assert shown["errors"] == "left out"


def test_people_read_the_verdict_the_flips_and_what_to_do_next(
    prime: Prime, tmp_path: Path
) -> None:
    a, b = save(tmp_path, "small", "0110"), save(tmp_path, "large", "011x")
    result = prime("eval", "compare", a, b, cwd=tmp_path).ok()
    assert "not decisive: every example has the same reward" in result.out
    assert "A 0 of 4, B 1 of 4 rollouts, left out" in result.out
    assert "3 compared, 1 without a reward on a side left out" in result.out
    changed = save(tmp_path, "third", "1110")
    result = prime("eval", "compare", a, changed, cwd=tmp_path).ok()
    assert "not decisive: equal runs would differ this much in 100 % of cases" in result.out
    assert "example 0: 0 to 1" in result.out
    assert f"prime eval show {changed} --example 0" in result.err
    assert [line for line in result.out.splitlines() if len(line) > 80] == []


def test_a_verdict_is_of_a_and_b(prime: Prime, tmp_path: Path) -> None:
    a, b = save(tmp_path, "small", "0" * 10), save(tmp_path, "large", "1" * 10)
    better, worse = (
        prime("eval", "compare", *each, cwd=tmp_path).ok() for each in ((a, b), (b, a))
    )
    assert "Verdict      B scores higher than A: equal runs" in better.out
    assert "Verdict      B scores lower than A: equal runs" in worse.out


def test_an_interval_that_disagrees_with_the_test_is_reported_to_yield(
    prime: Prime, tmp_path: Path
) -> None:
    a, b = save(tmp_path, "small", "000001"), save(tmp_path, "large", "111111")
    result = prime("eval", "compare", a, b, cwd=tmp_path).ok()
    assert "the interval excludes 0, but p is above 0.05; p decides" in result.out
    assert [line for line in result.out.splitlines() if len(line) > 80] == []
    same = prime("eval", "compare", a, a, "--output", "json", cwd=tmp_path).ok().json
    assert same["comparisons"][0]["disagreement"] is None


def test_errors_can_count_as_zero(prime: Prime, tmp_path: Path) -> None:
    a, b = save(tmp_path, "small", "1111"), save(tmp_path, "large", "11xx")
    flags = ("--errors-as-zero", "--output", "json")
    shown = prime("eval", "compare", a, b, *flags, cwd=tmp_path).ok().json
    assert shown["errors"] == "as zero"
    assert shown["comparisons"][0]["difference"] == -0.5


def test_models_are_compared_on_every_environment_they_share(prime: Prime, tmp_path: Path) -> None:
    for env in ("wordle", "chess"):
        save(tmp_path, "small", "0" * 10, env=env)
        save(tmp_path, "large", "1" * 10, env=env)
    alone = save(tmp_path, "large", "1", env="go")
    result = prime("eval", "compare", "small", "large", cwd=tmp_path).ok()
    assert "ada/chess@1.2" in result.out
    assert f"{alone} (ada/go@1.2) has no counterpart" in result.err
    records = prime("eval", "compare", "small", "large", "--output", "jsonl", cwd=tmp_path)
    for each in records.ok().records:
        assert each["p_adjusted"] == 2 * each["p"]


def test_folders_of_runs_and_lists_of_runs_are_sides_too(prime: Prime, tmp_path: Path) -> None:
    for model in ("small", "large"):
        save(tmp_path, model, "01", env="chess")
        save(tmp_path, model, "10")
    here = tmp_path / "outputs" / "evals"
    (tmp_path / "a").mkdir()
    for env in ("chess", "wordle"):
        (here / f"{env}--small").rename(tmp_path / "a" / env)
    shown = prime("eval", "compare", "a", "large", "--output", "json", cwd=tmp_path).ok().json
    assert len(shown["comparisons"]) == 2
    ids = [next((here / f"{env}--large").iterdir()).name for env in ("chess", "wordle")]
    listed = prime("eval", "compare", "a", ",".join(ids), "--output", "json", cwd=tmp_path)
    assert listed.ok().json == shown


def test_further_runs_are_each_compared_with_the_first(prime: Prime, tmp_path: Path) -> None:
    a, b, c = (save(tmp_path, name, "01" * 5) for name in ("one", "two", "three"))
    found = prime("eval", "compare", a, b, c, "--output", "jsonl", cwd=tmp_path).ok().records
    assert [(each["first"]["name"], each["other"]["name"]) for each in found] == [(a, b), (a, c)]


def test_different_wheels_are_a_conflict_unless_forced(prime: Prime, tmp_path: Path) -> None:
    a, b = save(tmp_path, "one", "01"), save(tmp_path, "two", "01", sha="cd" * 32)
    refused = prime("eval", "compare", a, b, cwd=tmp_path)
    assert refused.code == 7
    assert "different wheels" in refused.err
    assert "--force" in refused.err
    assert "different wheels" in prime("eval", "compare", a, b, "--force", cwd=tmp_path).ok().out


def test_what_cannot_be_compared_is_reported(prime: Prime, tmp_path: Path) -> None:
    a, other = save(tmp_path, "one", "01"), save(tmp_path, "one", "01")
    assert prime("eval", "compare", a, cwd=tmp_path).code == 2
    assert prime("eval", "compare", a, "nothing", cwd=tmp_path).code == 6
    assert prime("eval", "compare", f"{a},{other}", a, cwd=tmp_path).code == 2
    assert prime("eval", "compare", a, other, "--alpha", "2", cwd=tmp_path).code == 2
    chess, go = (f"{save(tmp_path, n, '1', env=n)},{save(tmp_path, n, '1', env=n + '-2')}"
                 for n in ("chess", "go"))  # fmt: skip
    assert prime("eval", "compare", chess, go, cwd=tmp_path).code == 6


def test_without_scipy_the_extra_is_named_before_anything_is_read(
    prime: Prime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    for words in (
        ("compare", "a", "b"),
        ("power", "--rate", "0.5", "-n", "9"),
        ("gate", "--baseline", "a", "--max-drop", "0"),
    ):
        result = prime("eval", *words, cwd=tmp_path)
        assert result.code == 2
        with monkeypatch.context() as there:
            there.chdir(tmp_path)
            assert install_command("stats") in result.err
