"""`prime env check` from the command line, and what an upload does with its report."""

import shutil
from pathlib import Path

import pytest

from prime_cli.core.paths import home_path, prime_home
from prime_cli.envs.project.starters import mark_published
from prime_cli.evals.env_check.inspection import ORDER
from prime_cli.evals.env_check.tasks import OF_TASKS
from prime_cli.wire.check_reports import CheckReport
from prime_cli.wire.codec import convert
from tests.helpers.cli import Prime
from tests.helpers.wild import RAISES_AT_IMPORT, SINGLE_TURN, TASKSET, WILD, Shape, write_project

BOUNDED = ("verifiers>=0.1.14,<0.4",)
ALWAYS_PAID = SINGLE_TURN.replace("return float(", "return 1.0 + 0 * float(")


@pytest.fixture(autouse=True)
def no_starters() -> None:
    """Publishing the starters is tested elsewhere and would double the time."""
    mark_published(prime_home() / "hub")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-n", "0"), "`-n 0` is not a number of examples"),
        (("--timeout", "0"), "is not a number of seconds"),
        (("--attack", "--attack-calls", "-1"), "`--attack-calls -1` is not a number of calls"),
        (("--benchmark", "README.md"), "README.md:1 is not a text"),
        (("--all-tasks", "-c", "0"), "`-c 0` is not a number of rollouts"),
        (("-a", "{x"), "`-a/--env-args` is not JSON"),
        (("--env-var", "NOT_SET"), "names a variable that is not set"),
    ],
)
def test_an_invalid_value_ends_with_2(
    words: tuple[str, ...], told: str, prime: Prime, tmp_path: Path
) -> None:
    write_project(tmp_path)
    result = prime("env", "check", *words, cwd=tmp_path)
    assert result.code == 2
    assert told in result.err


def test_what_is_not_there_ends_with_6(prime: Prime, tmp_path: Path) -> None:
    assert prime("env", "check", "no-such-env", cwd=tmp_path).code == 6


def test_a_project_that_does_not_build_is_reported_and_ends_with_9(
    prime: Prime, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "1"\n\n[build-system]\nrequires = ["hatchling"]\n'
        'build-backend = "hatchling.build"\n',
        encoding="utf-8",
    )
    result = prime("env", "check", "--output", "json", cwd=tmp_path)
    assert result.code == 9
    report = convert(result.json, CheckReport)
    assert (report.verdict, report.wheel_sha256) == ("fail", None)
    assert [check.id for check in report.checks] == ["build"]


def test_a_wheel_that_exposes_nothing_fails_its_build(prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path, WILD["not-an-environment"])
    result = prime("env", "check", "--output", "json", cwd=tmp_path)
    assert result.code == 9
    report = convert(result.json, CheckReport)
    assert [check.id for check in report.checks] == list(ORDER)
    found = {check.id: check.status for check in report.checks}
    assert (found["build"], found["load"], found["gold"]) == ("fail", "skip", "skip")


@pytest.mark.usefixtures("wheelhouse")
def test_an_environment_that_does_not_load_is_reported_and_ends_with_9(
    prime: Prime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_DEFAULT_INDEX")  # where the build backend comes from
    write_project(tmp_path, Shape(body=RAISES_AT_IMPORT + SINGLE_TURN, backend=None))
    result = prime("env", "check", "--output", "json", cwd=tmp_path)
    assert result.code == 9
    report = convert(result.json, CheckReport)
    load = next(check for check in report.checks if check.id == "load")
    assert load.status == "fail"
    assert "this module cannot be imported" in load.sentence + result.err


def test_a_check_and_none_exclude_each_other(prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    for wanted in ("--require-check", "--require-attack-check"):
        assert prime("env", "upload", "--no-check", wanted, cwd=tmp_path).code == 2


@pytest.mark.slow
def test_a_v0_environment_is_checked_and_published_with_its_report(
    prime: Prime, tmp_path: Path
) -> None:
    tables = "\n[tool.prime.check]\nskip = ['echo']\n"
    good = write_project(tmp_path / "good", Shape(dependencies=BOUNDED, tables=tables))
    report = convert(prime("env", "check", "--output", "json", cwd=good).ok().json, CheckReport)
    assert [check.id for check in report.checks] == list(ORDER)
    amiss = {check.id: check.status for check in report.checks if check.status != "pass"}
    assert amiss == {"metadata": "warn", "examples": "warn", "echo": "skip"}
    assert (report.generation, report.examples) == ("v0", 4)
    assert prime("env", "check", "--strict", cwd=good).code == 1

    record = prime("env", "upload", "--require-check", "--output", "json", cwd=good).ok().json
    assert record["check"] == {**record["check"], "verdict": "warn", "warned": 2, "failed": 0}
    info = prime("env", "info", "ada/tiny-env").ok()
    assert "warned 2, skipped 1 (by its publisher" in info.out
    again = prime("env", "check", "ada/tiny-env", "--output", "json", cwd=tmp_path).ok().json
    assert again["environment"] == "ada/tiny-env@0.1.0"
    assert [check["status"] for check in again["checks"]] == [c.status for c in report.checks]


@pytest.mark.slow
def test_only_rewards_that_hold_an_attack_are_published(prime: Prime, tmp_path: Path) -> None:
    leaky = SINGLE_TURN.replace("return float(", "return float('cannot' in str(completion) or ")
    bad = write_project(tmp_path / "bad", Shape(body=leaky, dependencies=BOUNDED))
    result = prime("env", "check", "--attack", "--attack-calls", "20", cwd=bad)
    assert result.code == 1
    assert "attack refusal leaks" in result.err
    refused = prime("env", "upload", "--require-attack-check", cwd=bad)
    assert refused.code == 1
    assert "do not hold (verdict: leaks)" in refused.err
    good = write_project(tmp_path / "good", Shape(dependencies=BOUNDED))
    uploaded = prime("env", "upload", "--require-attack-check", "--output", "json", cwd=good)
    assert uploaded.ok().json["check"]["attack"] == "holds"
    assert "4 of 4 examples of `eval` are in another split too" in uploaded.err
    assert "attack: holds" in prime("env", "info", "ada/tiny-env").ok().out
    training = ("train", "ada/tiny-env", "-m", "some/model", "--dry-run")
    assert "Rewards" not in prime(*training).ok().out
    shutil.rmtree(home_path(prime_home(), "cache") / "attacks")
    assert "they held, by its publisher's report: try" in prime(*training).ok().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reward", "verdict", "known"),
    [
        ("trace.last_reply == self.data.answer", "holds", '"Say 99"'),
        ("'cannot' in trace.last_reply", "leaks", '{"question": "say  7"}'),
    ],
)
def test_a_v1_taskset_is_attacked_alike(
    reward: str, verdict: str, known: str, prime: Prime, tmp_path: Path
) -> None:
    right = "trace.last_reply == self.data.answer"
    harness = "from verifiers.v1.harnesses.null import NullHarness  # starts no processes\n"
    body = harness + TASKSET.replace(right, f"{right} or {reward}")
    body = body.replace('["TinyTaskset"]', '["TinyTaskset", "NullHarness"]')
    shape = Shape(body=body, layout="package", dependencies=("verifiers>=0.4,<0.5",))
    folder = write_project(tmp_path / "project", shape)
    (tmp_path / "known.jsonl").write_text(known, encoding="utf-8", newline="\n")
    words = ("--attack", "--attack-calls", "20", "--benchmark", str(tmp_path / "known.jsonl"))
    args = ("-a", '{"num_examples": 24}', "--output", "json")
    result = prime("env", "check", *words, *args, cwd=folder)
    assert result.code == int(verdict == "leaks"), result.err
    report = convert(result.json, CheckReport)
    assert report.attack is not None
    assert report.attack.verdict == verdict
    statuses = {check.id: check.status for check in report.checks}
    assert (statuses["splits"], statuses["source"]) == ("pass", "pass")
    assert statuses["benchmark"] == ("pass" if verdict == "holds" else "fail")
    (found,) = [each for each in report.attack.attacks if each.name == "refusal"]
    assert found.outcome == verdict
    if verdict == "leaks":
        line = next(
            n for n, text in enumerate(body.lstrip().splitlines(), 1) if "@vf.reward" in text
        )
        assert (found.rule, found.file, found.line) == ("right", "tiny_env/__init__.py", line)
        assert "example 7. Example 7 is known.jsonl:1" in result.out


@pytest.mark.slow
def test_a_version_that_fails_its_check_is_not_published(prime: Prime, tmp_path: Path) -> None:
    bad = write_project(tmp_path, Shape(body=ALWAYS_PAID, dependencies=BOUNDED))
    result = prime("env", "check", cwd=bad)
    assert result.code == 1
    assert "does not pass 3 checks: empty, echo, garbage" in result.err
    refused = prime("env", "upload", "--require-check", cwd=bad)
    assert refused.code == 1
    assert prime("env", "info", "ada/tiny-env").code == 6
    prime("env", "upload", "--check", cwd=bad).ok()
    assert "failed 3" in prime("env", "info", "ada/tiny-env").ok().out


@pytest.mark.slow
@pytest.mark.sample(1, "reward")
@pytest.mark.parametrize(
    ("reward", "code", "failed"),
    [
        ("trace.last_reply == self.data.answer", 0, []),
        ("True", 1, ["empty", "echo", "garbage", "untouched"]),
    ],
)
def test_a_v1_taskset_is_checked_alike(
    reward: str, code: int, failed: list[str], prime: Prime, tmp_path: Path
) -> None:
    body = TASKSET.replace("trace.last_reply == self.data.answer", reward)
    shape = Shape(body=body, layout="package", dependencies=("verifiers>=0.4,<0.5",))
    folder = write_project(tmp_path, shape)
    words = ("--all-tasks", "-c", "2", "--output", "json")
    result = prime("env", "check", *words, cwd=folder)
    assert result.code == code, result.err
    report = convert(result.json, CheckReport)
    assert report.generation == "v1"
    assert [check.id for check in report.checks] == [*ORDER, *OF_TASKS]
    told = {check.id: check.sentence for check in report.checks}
    assert told["tasks"].startswith("4 tasks set up")
    assert [check.id for check in report.checks if check.status == "fail"] == failed
    assert next(check.status for check in report.checks if check.id == "repeat") == "pass"
