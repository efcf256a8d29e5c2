"""Small environments, each bad in one way: the check of that way tells, and no other one."""

from pathlib import Path

import pytest

from prime_cli.evals.checking.declaration import Declaration
from tests.evals.checking.small import GOOD, Sounded, sound_twice

RIGHT = 'return text(state) == state["answer"]'


def scored(reward: str) -> str:
    """The good environment with another reward."""
    assert RIGHT in GOOD
    return GOOD.replace(RIGHT, reward)


def test_a_good_environment_passes_every_check(tmp_path: Path) -> None:
    found = sound_twice(tmp_path, GOOD)
    assert found.amiss == {}
    assert found.checks["gold"].evidence["mean"] == 1.0
    assert found.checks["examples"].evidence == {"examples": 12, "answered": 12}
    assert len(found.first.rows) == 21


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
    found = sound_twice(tmp_path, scored(reward))
    assert found.amiss == amiss
    for name in amiss:
        assert found.checks[name].step


def test_a_reward_that_depends_on_chance_is_found(tmp_path: Path) -> None:
    chance = 'import random; return (text(state) == state["answer"]) * (1 - random.random() / 9)'
    found = sound_twice(tmp_path, scored(chance))
    assert found.status("repeat") == "fail"
    assert "example 0" in found.checks["repeat"].sentence


def test_a_dataset_that_depends_on_chance_is_found(tmp_path: Path) -> None:
    shuffled = GOOD.replace(
        "def load_environment():", "import random\nrandom.shuffle(ROWS)\n\ndef load_environment():"
    )
    assert sound_twice(tmp_path, shuffled).status("data") == "fail"


def test_a_reward_that_is_no_number_is_found(tmp_path: Path) -> None:
    broken = scored('return 1.0 if text(state) == state["answer"] else float("nan")')
    assert sound_twice(tmp_path, broken).status("range") == "fail"


def test_code_that_raises_on_a_poor_answer_is_warned_of(tmp_path: Path) -> None:
    found = sound_twice(tmp_path, scored('return {state["answer"]: 1.0}[text(state)]'))
    assert found.status("errors") == "warn"
    assert "RewardFailed" in found.checks["errors"].sentence
    assert found.status("gold") == "pass"
    assert found.status("garbage") == "skip"


def test_code_that_raises_on_the_gold_answer_fails(tmp_path: Path) -> None:
    found = sound_twice(tmp_path, scored("raise LookupError(3)"))
    assert found.status("errors") == "fail"
    assert found.status("gold") == "fail"
    assert found.status("repeat") == "skip"


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
    found = sound_twice(tmp_path, scored(f"return text(state) == {form}"))
    assert found.amiss == {}
    assert found.checks["gold"].evidence["form"] == named


def test_an_oracle_of_its_own_knows_best(tmp_path: Path) -> None:
    source = scored('return text(state) == state["answer"][::-1]')
    source += "\ndef oracle(messages, *, answer, info):\n    return answer[::-1]\n"
    found = sound_twice(tmp_path, source)
    assert found.amiss == {}
    assert "by its own oracle" in found.checks["gold"].sentence


def test_without_answers_and_oracle_gold_cannot_be_checked(tmp_path: Path) -> None:
    source = scored('return text(state) == "word"').replace('"answer": f"word{n}"', '"answer": ""')
    found = sound_twice(tmp_path, source)
    assert found.amiss == {"gold": "warn"}
    assert "cannot be checked" in found.checks["gold"].sentence
    assert "oracle(messages" in (found.checks["gold"].step or "")


def test_a_conversation_without_an_end_is_ended_and_told(tmp_path: Path) -> None:
    talk = """
class Talk(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        while True:
            state = await super().rollout(input, client, model, sampling_args)
            if text(state).startswith("word"):
                return state
"""
    source = GOOD.replace("def load_environment():", talk + "\ndef load_environment():")
    found = sound_twice(tmp_path, source.replace("vf.Environment(ROWS", "Talk(ROWS"), first=1)
    assert found.status("ends") == "warn"
    assert found.status("gold") == "pass"
    assert found.status("errors") == "pass"


def test_a_rollout_that_takes_too_long_is_ended_and_told(tmp_path: Path) -> None:
    slow = """
import asyncio

class Slow(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        await asyncio.sleep(3600)
"""
    source = GOOD.replace("def load_environment():", slow + "\ndef load_environment():")
    source = source.replace("vf.Environment(ROWS", "Slow(ROWS")
    found = sound_twice(tmp_path, source, first=1, rollout_seconds=0.2)
    assert found.status("ends") == "fail"
    assert found.status("errors") == "pass"


OUTSIDE = """
import contextlib
import socket

def ask_for(host):
    with contextlib.suppress(OSError):
        socket.create_connection((host, 80), timeout=1)

ask_for("data.invalid")

class Online(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        ask_for("api.tools.invalid")
        return await super().rollout(input, client, model, sampling_args)
"""


@pytest.mark.parametrize(
    ("declaration", "status"),
    [
        (Declaration(), "fail"),
        (Declaration(hosts=("other.invalid",)), "fail"),
        (Declaration(hosts=("tools.invalid",)), "pass"),
        (Declaration(hosts=None), "pass"),
    ],
)
def test_rollouts_ask_only_for_hosts_that_are_declared(
    declaration: Declaration, status: str, tmp_path: Path
) -> None:
    source = GOOD.replace("def load_environment():", OUTSIDE + "\ndef load_environment():")
    source = source.replace("vf.Environment(ROWS", "Online(ROWS")
    check = sound_twice(tmp_path, source, declaration).checks["network"]
    assert check.status == status
    assert check.evidence["rollout"] == ["api.tools.invalid"]
    assert check.evidence["load"] == ["data.invalid"]


def test_hosts_asked_for_while_loading_are_told_and_pass(tmp_path: Path) -> None:
    source = GOOD.replace("def load_environment():", OUTSIDE + "\ndef load_environment():")
    check = sound_twice(tmp_path, source).checks["network"]
    assert check.status == "pass"
    assert "loading for data.invalid" in check.sentence


def with_examples(*pairs: tuple[str, str]) -> str:
    """The good environment with other prompts and answers."""
    rows = [
        {"prompt": [{"role": "user", "content": prompt}], "answer": answer, "info": {}}
        for prompt, answer in pairs
    ]
    return f"{GOOD}\n\nROWS[:] = {rows!r}\n"


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
def test_what_is_wrong_with_the_examples_is_told(
    pairs: list[tuple[str, str]], amiss: dict[str, str], tmp_path: Path
) -> None:
    found = sound_twice(tmp_path, with_examples(*pairs))
    assert found.amiss == amiss


GROUPED = """
class Group(vf.Environment):
    requires_group_rollouts = True

    async def run_group(self, *args, max_retries=0, **options):
        states = await super().run_group(*args, **options)
        mean = sum(state["reward"] for state in states) / len(states)
        for state in states:
            state["reward"] = SIGN * (state["reward"] - mean)
        return states
"""


@pytest.mark.parametrize(("sign", "status"), [(1, "pass"), (-1, "fail")])
def test_within_groups_no_poor_answer_is_as_good_as_the_gold_one(
    sign: int, status: str, tmp_path: Path
) -> None:
    source = GOOD.replace(
        "def load_environment():", f"SIGN = {sign}\n{GROUPED}\ndef load_environment():"
    )
    source = source.replace("vf.Environment(ROWS", "Group(ROWS")
    found = sound_twice(tmp_path, source)
    assert found.first.start is not None
    assert found.first.start.unit == "group"
    assert {found.status("gold"), found.status("range")} == {"pass"}
    assert {found.status(name) for name in ("empty", "echo", "garbage")} == {status}


def judged(found: Sounded) -> set[str]:
    return {found.status(name) for name in ("gold", "empty", "errors")}


def test_a_judge_is_not_called_unless_it_may_be(tmp_path: Path) -> None:
    judge = """
class Judged(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):
        state = await super().rollout(input, client, model, sampling_args)
        await client.chat.completions.create(model="a-judge", messages=input["prompt"])
        return state
"""
    source = GOOD.replace("def load_environment():", judge + "\ndef load_environment():")
    found = sound_twice(tmp_path, source.replace("vf.Environment(ROWS", "Judged(ROWS"))
    assert judged(found) == {"skip"}
    assert "--judges" in found.checks["gold"].sentence
