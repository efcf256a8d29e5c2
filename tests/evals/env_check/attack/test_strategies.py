"""The answers of each strategy, and that none of them is right."""

import pytest

from prime_cli.evals.env_check.attack.strategies import (
    STRATEGIES,
    Corpus,
    Target,
    alike,
    choices,
)
from prime_cli.evals.env_check.attack.tool_code import code_parameter, snoop
from prime_cli.models.gateway.oracle import OracleQuestion

LETTERS = "Which?\nA) red\nB) blue\nC) green"


def target(gold: str, asked: str = "What?", example: int = 0) -> Target:
    question = OracleQuestion(example, [{"role": "user", "content": asked}], [])
    return Target(example, question, asked, gold, (gold,))


def corpus(*answers: str) -> Corpus:
    return Corpus.of(dict(enumerate(answers)), str)  # type: ignore[arg-type]


def said(name: str, of: Target, among: Corpus, *others: Target) -> object:
    strategy = next(each for each in STRATEGIES if each.name == name)
    line = strategy.make(of, among, [of, *others])
    return line(1, of.question) if callable(line) else line


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Paris", "paris.", True),
        ("1,000", "1000.0", True),
        ("0.5", "1/2", True),
        ("B", "(B) blue", True),
        ("12", "112", False),
        ("yes", "no", False),
        ("", "x", False),
    ],
)
def test_answers_that_may_count_as_the_same_are_alike(one: str, other: str, same: bool) -> None:
    assert alike(one, other) is same
    assert alike(other, one) is same


def test_an_answer_that_would_be_right_is_not_given() -> None:
    assert said("constant", target("no"), corpus("no", "no", "yes")) is None
    assert said("other-gold", target("4"), corpus("4"), target("4.0", example=1)) is None
    assert said("echo", target("say it", "Say it!"), corpus("say it")) is None
    assert said("empty", target(""), corpus("")) is None
    assert said("judge-address", target("10"), corpus("10", "11")) is None


def test_the_gold_answer_of_the_farthest_example_is_given() -> None:
    others = [target("5", example=1), target("900", example=2)]
    assert said("other-gold", target("4"), corpus("4", "5", "900"), *others) == "900"


def test_every_option_has_a_wrong_one_first_and_last() -> None:
    lines = str(said("every-option", target("A", LETTERS), corpus("A", "B", "C"))).split()
    assert sorted(set(lines)) == ["A", "B", "C"]
    assert "A" not in (lines[0], lines[-1])


@pytest.mark.parametrize(
    ("among", "found"),
    [
        (corpus("yes", "no"), ["no", "yes"]),
        (corpus(*map(str, range(5, 17))), [str(n) for n in range(5, 17)]),
        (corpus(*(f"word{n}" for n in range(11))), []),
    ],
)
def test_choices_are_those_of_a_closed_set(among: Corpus, found: list[str]) -> None:
    assert choices(target("yes"), among) == found


def test_tool_calls_have_arguments_of_the_right_types() -> None:
    properties = {"n": {"type": "integer"}, "text": {"type": "string"}}
    tool = {"function": {"name": "go", "parameters": {"properties": properties}}}
    asked = OracleQuestion(0, [], [tool])
    call = said("endless-calls", Target(0, asked, "", "x", ("x",)), corpus("x"))
    assert call == {"tool_calls": [{"name": "go", "arguments": {"n": 1, "text": "x"}}]}


def test_only_an_answer_of_its_own_line_counts_as_read() -> None:
    tool = {"function": {"name": "sh", "parameters": {"properties": {"command": {}}}}}
    question = OracleQuestion(0, [], [tool])
    assert code_parameter(tool) is not None
    line = snoop(question, "blue", "<{}>".format)
    assert line is not None
    for printed, answer in (("leak> blue", "<blue>"), ("leak> a blue sky", "I found nothing.")):
        heard = OracleQuestion(0, [{"role": "tool", "content": printed}], [tool])
        assert line(2, heard) == answer
    assert snoop(OracleQuestion(0, [], []), "blue", str) is None
