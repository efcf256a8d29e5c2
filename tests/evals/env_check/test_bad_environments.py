"""Small environments, each bad in one way: the check of that way tells, and no other one."""

from pathlib import Path

import pytest

from prime_cli.evals.env_check.scoring import POOR
from tests.evals.env_check.small import GOOD, sound_twice, with_reward


def test_a_good_environment_passes_every_check(tmp_path: Path) -> None:
    found = sound_twice(tmp_path, GOOD)
    assert found.amiss == {}
    assert found.checks["gold"].evidence["mean"] == 1.0
    assert found.checks["examples"].evidence == {"examples": 12, "answered": 12}
    assert len(found.first.rows) == 21


@pytest.mark.sample(5, "reward")
@pytest.mark.parametrize(
    ("reward", "amiss"),
    [
        ('return not text(state).strip() or text(state) == state["answer"]', {"empty": "fail"}),
        ('return state["answer"] in text(state)', {"echo": "fail"}),
        ("return bool(text(state).strip())", {"echo": "fail", "garbage": "fail"}),
        ("return 1.0", {"empty": "fail", "echo": "fail", "garbage": "fail"}),
        ("return 0.0", {"gold": "fail"}),
        ('return 0.7 * (text(state) == state["answer"])', {"gold": "warn"}),
        ('return 5 * (text(state) == state["answer"])', {"range": "warn"}),
        (
            'return 0.3 * (text(state) != state["answer"]) + (text(state) == state["answer"])',
            {"empty": "warn", "echo": "warn", "garbage": "warn"},
        ),
        (
            'return text(state) == state["answer"] or (not text(state) and "word1" in str(state))',
            {"empty": "warn"},
        ),
    ],
)
def test_answers_that_deserve_nothing_must_get_little(
    reward: str, amiss: dict[str, str], tmp_path: Path
) -> None:
    found = sound_twice(tmp_path, with_reward(reward))
    assert found.amiss == amiss
    for name in amiss:
        assert found.checks[name].step


def test_a_reward_that_depends_on_chance_is_found(tmp_path: Path) -> None:
    chance = 'import random; return (text(state) == state["answer"]) * (1 - random.random() / 9)'
    found = sound_twice(tmp_path, with_reward(chance))
    assert found.status("repeat") == "fail"
    assert "example 0" in found.checks["repeat"].sentence


def test_a_dataset_that_depends_on_chance_is_found(tmp_path: Path) -> None:
    shuffled = GOOD.replace(
        "def load_environment():", "import random\nrandom.shuffle(ROWS)\n\ndef load_environment():"
    )
    assert sound_twice(tmp_path, shuffled).status("data") == "fail"


def test_a_reward_that_is_not_a_number_is_found(tmp_path: Path) -> None:
    broken = with_reward('return 1.0 if text(state) == state["answer"] else float("nan")')
    assert sound_twice(tmp_path, broken).status("range") == "fail"


def test_code_that_raises_on_a_poor_answer_is_warned_of(tmp_path: Path) -> None:
    found = sound_twice(tmp_path, with_reward('return {state["answer"]: 1.0}[text(state)]'))
    assert found.status("errors") == "warn"
    assert "RewardFailed" in found.checks["errors"].sentence
    assert found.status("gold") == "pass"
    assert found.status("garbage") == "skip"


def test_code_that_raises_on_the_gold_answer_fails(tmp_path: Path) -> None:
    found = sound_twice(tmp_path, with_reward("raise LookupError(3)"))
    assert found.status("errors") == "fail"
    assert found.status("gold") == "fail"
    assert found.status("repeat") == "skip"


def test_a_gold_answer_without_a_reward_is_not_said_to_have_got_one(tmp_path: Path) -> None:
    raises = 'assert "word1" not in state["answer"]; return text(state) == state["answer"]'
    gold = sound_twice(tmp_path, with_reward(raises)).checks["gold"]
    assert gold.status == "fail"
    assert gold.sentence.startswith("The gold answer got no reward in example 1: ")


@pytest.mark.parametrize(
    ("form", "named"),
    [
        ("f\"<answer>{state['answer']}</answer>\"", "tagged"),
        ('"\\\\boxed{" + state["answer"] + "}"', "boxed"),
    ],
)
def test_gold_answers_are_also_tried_in_the_forms_that_parsers_ask_for(
    form: str, named: str, tmp_path: Path
) -> None:
    found = sound_twice(tmp_path, with_reward(f"return text(state) == {form}"))
    assert found.amiss == {}
    assert found.checks["gold"].evidence["form"] == named


def test_an_oracle_of_its_own_knows_best(tmp_path: Path) -> None:
    source = with_reward('return text(state) == state["answer"][::-1]')
    source += "\ndef oracle(messages, *, answer, info):\n    return answer[::-1]\n"
    found = sound_twice(tmp_path, source)
    assert found.amiss == {}
    assert "by its own oracle" in found.checks["gold"].sentence


def test_without_answers_and_oracle_gold_cannot_be_checked(tmp_path: Path) -> None:
    source = with_reward('return text(state) == "word"').replace(
        '"answer": f"word{n}"', '"answer": ""'
    )
    found = sound_twice(tmp_path, source)
    assert found.amiss == {"gold": "warn"}
    assert "good answers are untested" in found.checks["gold"].sentence
    assert "oracle(messages" in (found.checks["gold"].step or "")
    for name in POOR:
        assert found.checks[name].sentence.endswith("get 0 on average, of at most 1")
        assert "gold" not in found.checks[name].evidence


def with_examples(*pairs: tuple[str, str]) -> str:
    """The good environment with other prompts and answers."""
    rows = [
        {"prompt": [{"role": "user", "content": prompt}], "answer": answer, "info": {}}
        for prompt, answer in pairs
    ]
    return f"{GOOD}\n\nROWS[:] = {rows!r}\n"


@pytest.mark.sample(3, "pairs")
@pytest.mark.parametrize(
    ("pairs", "amiss"),
    [
        ([(f"say {n}", "x") for n in range(3)], {"examples": "warn"}),
        ([(" " * n, "x") for n in range(20)], {"prompts": "fail"}),
        ([("the same", "x")] * 20, {"duplicates": "warn"}),
        ([("the same", str(n)) for n in range(20)], {"duplicates": "warn"}),
        ([(f"{n}: the long answer", "the long answer") for n in range(20)], {"leaks": "warn"}),
    ],
)
def test_what_is_wrong_with_the_examples_is_reported(
    pairs: list[tuple[str, str]], amiss: dict[str, str], tmp_path: Path
) -> None:
    found = sound_twice(tmp_path, with_examples(*pairs))
    assert found.amiss == amiss
