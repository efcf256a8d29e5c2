"""What splits have in common, and have of a benchmark."""

from typing import Any

import pytest

from prime_cli.runtime.worker.examples import SurveyedExample
from prime_cli.runtime.worker.overlap import find_overlap, print_of

PROBLEM = "A train leaves at nine and arrives at noon. How long is the journey?"


def asked(text: str, answer: str = "3", rest: Any = None) -> SurveyedExample:
    prompt = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return SurveyedExample(prompt, answer, rest)


def test_case_white_space_and_compatible_characters_do_not_tell_texts_apart() -> None:
    assert print_of("\uff37hat\n is  \u00bd?") == print_of("what IS 1\u20442?")
    assert print_of("a+b") != print_of("a-b")
    assert print_of("x \ud800") == print_of("X ?")


def test_an_example_of_two_splits_is_counted_where_it_comes_second() -> None:
    train = [asked(f"Question {n}?", str(n)) for n in range(20)]
    test = [asked("Another?"), asked("question 7?", "7"), asked("Question 9?", "9")]
    found = find_overlap({"train": train, "test": test}, [])
    assert found["examples"] == {"train": 20, "test": 3}
    assert found["shared"] == {"test": 2}
    assert found["pairs"] == [("test", 1, "train", 7), ("test", 2, "train", 9)]
    many = find_overlap({"train": train, "test": train}, [])
    assert (many["shared"], len(many["pairs"])) == ({"test": 20}, 10)


def test_duplicates_within_a_split_are_none_of_two() -> None:
    assert find_overlap({"train": [asked("Again?")] * 3, "test": []}, [])["shared"] == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([asked("Sort.", "1"), asked("Sort.", "2")], [asked("Sort.", "1")]),
        ([SurveyedExample("Go.", "", {"n": 1})], [SurveyedExample(None, "", {"n": 2})]),
        (
            [SurveyedExample([{"role": "user", "content": [{"type": "image", "url": "a"}]}], "1")],
            [SurveyedExample([{"role": "user", "content": [{"type": "image", "url": "b"}]}], "1")],
        ),
    ],
)
def test_prompts_that_do_not_tell_examples_apart_are_not_compared(
    one: list[SurveyedExample], other: list[SurveyedExample]
) -> None:
    assert find_overlap({"train": one, "test": other}, [])["shared"] == {}


def test_examples_whose_prompt_comes_later_are_compared_by_what_they_are() -> None:
    one, other = ([SurveyedExample(None, "", {"numbers": [n, 2]})] for n in (1, 1))
    assert find_overlap({"train": one, "test": other}, [])["shared"] == {"test": 1}


@pytest.mark.parametrize(
    "example",
    [
        asked(PROBLEM.upper()),
        asked(f"Solve this.\n\n{PROBLEM}\n\nPut the answer in a box."),
        asked(f"Think first.\n{PROBLEM}\nAnswer:"),
        SurveyedExample(PROBLEM, "3"),
        asked("See the file.", rest=[{"source": {"problem": PROBLEM}}, "default"]),
    ],
)
def test_a_text_of_the_benchmark_is_found_where_it_is_asked(example: SurveyedExample) -> None:
    found = find_overlap({"": [asked("Else?"), example]}, [print_of("?"), print_of(PROBLEM)])
    assert (found["known"], found["hits"]) == ({"": 1}, [("", 1, 1)])


@pytest.mark.parametrize(
    "example",
    [asked(f"{PROBLEM} In hours."), asked("Yes.\nNo."), SurveyedExample(None, "", "default")],
)
def test_what_only_holds_it_or_is_short_is_not_of_the_benchmark(example: SurveyedExample) -> None:
    known = [print_of(text) for text in (PROBLEM, "no.", "default")]
    assert find_overlap({"": [example]}, known)["hits"] == []
