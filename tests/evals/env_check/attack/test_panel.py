"""Each attack finds the hole that is planted for it, and nothing in its clean twin."""

import shutil
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from prime_cli.runtime.isolation.sandbox import find_sandbox
from tests.evals.env_check.attack.worlds import (
    CLEAN,
    HOLES,
    Hole,
    attack_world,
    outcome,
    source_of,
    twin,
)
from tests.evals.env_check.small import GOOD, with_reward
from tests.runtime.worker.runs import SMALL_LIBRARIES

needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLES)
def test_a_planted_hole_is_found_and_its_clean_twin_holds(name: str, tmp_path: Path) -> None:
    hole = HOLES[name]
    report = attack_world(tmp_path / "hole", source_of(hole))
    assert report.verdict == "leaks", report
    for finder in hole.finds:
        found = outcome(report, finder)
        assert (found.outcome, found.rule) == ("leaks", "right")
        assert found.file == "tiny_env.py"
        assert found.paid_interval is not None and found.paid_interval[0] > 0.05  # noqa: PT018
    clean = attack_world(tmp_path / "clean", source_of(twin(hole)))
    assert clean.verdict == "holds", clean
    assert [each for each in clean.attacks if each.outcome == "leaks"] == []


@pytest.mark.slow
@needs_bubblewrap
@pytest.mark.parametrize(("tool", "verdict"), [("print_of(code)", "leaks"), ("'denied'", "holds")])
def test_code_that_reads_the_answer_from_the_process_is_found_in_a_sandbox(
    tool: str, verdict: str, tmp_path: Path
) -> None:
    source = source_of(Hole(CLEAN, ("snooping",), tool=tool)).replace(
        "def run(code):",
        "def print_of(code):\n    import contextlib, io\n    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out):\n        exec(code, {})\n"
        "    return out.getvalue()\n\ndef run(code):",
    )
    data = tmp_path / "data"
    data.mkdir()
    libraries = (*map(Path, SMALL_LIBRARIES), Path(sysconfig.get_path("purelib")))
    walls = replace(find_sandbox(data, network=False), readable=libraries)
    report = attack_world(tmp_path, source, walls=walls)
    assert report.verdict == verdict, report
    assert outcome(report, "snooping").outcome == verdict
    outside = attack_world(tmp_path / "outside", source, calls=0)
    assert "--sandbox" in outcome(outside, "snooping").sentence


def test_an_environment_without_answers_is_unknown(tmp_path: Path) -> None:
    report = attack_world(tmp_path, GOOD.replace('"answer": f"word{n}"', '"answer": ""'))
    assert (report.verdict, report.attacks) == ("unknown", ())
    assert "nothing is known to be wrong" in report.reason


def test_gold_answers_without_a_reward_are_no_measure(tmp_path: Path) -> None:
    report = attack_world(tmp_path, with_reward("return 0.0"))
    assert report.verdict == "unknown"
    assert "no measure" in report.reason


def test_an_attack_that_crashes_the_reward_is_a_finding_with_its_line(tmp_path: Path) -> None:
    crashing = with_reward('return float(text(state).split()[0] == state["answer"])')
    report = attack_world(tmp_path, crashing, calls=0)
    assert report.verdict == "holds"
    found = outcome(report, "empty")
    assert (found.outcome, found.file) == ("crashes", "tiny_env.py")
    assert "IndexError" in found.sentence
    assert "split()" in crashing.splitlines()[(found.line or 0) - 1]


@pytest.mark.slow
def test_an_attack_that_never_returns_is_stopped_and_the_others_go_on(tmp_path: Path) -> None:
    endless = with_reward(
        'while "cannot" in text(state): pass\n    return text(state) == state["answer"]'
    )
    report = attack_world(tmp_path, endless, calls=0, rollout_seconds=2.0, first=2)
    assert outcome(report, "refusal").outcome in ("endless", "crashes")
    assert outcome(report, "early-stop").outcome == "holds"


def test_within_groups_an_answer_is_paid_like_the_gold_one_beside_it(tmp_path: Path) -> None:
    ranked = GOOD.replace("def right(state):", "def right(completions, answers):").replace(
        'return text(state) == state["answer"]',
        "lengths = [len(c[-1].content or '') for c in completions]\n"
        "    return [float(one == max(lengths)) for one in lengths]",
    )
    report = attack_world(tmp_path, ranked, calls=0)
    assert report.verdict == "leaks"
    assert outcome(report, "long").outcome == "leaks"
    assert outcome(report, "empty").outcome == "holds"
