"""A later worker sees that its examples are those of the first, also where there are more."""

from pathlib import Path
from typing import Any

import pytest

from prime_cli.runtime.worker.examples import (
    SurveyedExample,
    holds_answer,
    is_empty,
    survey,
    text_of,
)
from tests.helpers.scripted_model import ScriptedModel
from tests.runtime.worker.runs import Said, run_worker, small_spec


def fingerprint_of(model: ScriptedModel, log: Path, n: int) -> str:
    return run_worker(small_spec(model, n=n), log).started.fingerprint


def require_refused(said: Said, why: str) -> None:
    assert said.start is None
    assert said.ended.stage == "data"
    assert said.ended.error is not None
    assert said.ended.error.message == why
    assert said.rollouts == []


def test_more_examples_begin_with_the_same_ones(model: ScriptedModel, log: Path) -> None:
    before = fingerprint_of(model, log, 2)
    said = run_worker(small_spec(model, n=3, prefix=2, fingerprint=before), log)
    assert said.started.fingerprint == fingerprint_of(model, log, 3) != before


def test_other_examples_end_the_worker_before_a_model_is_called(
    model: ScriptedModel, log: Path
) -> None:
    said = run_worker(small_spec(model, n=3, prefix=2, fingerprint="ab" * 32), log)
    require_refused(said, "the first 2 examples have changed")
    assert model.calls == []


def test_fewer_examples_than_before_are_others(model: ScriptedModel, log: Path) -> None:
    before = fingerprint_of(model, log, 3)
    said = run_worker(small_spec(model, n=2, prefix=3, fingerprint=before), log)
    require_refused(said, "the data set had 3 examples and now has 2")


CHOICE = "Which tower?\n(A) the Eiffel Tower\n(B) the Tower Bridge"


@pytest.mark.parametrize(
    ("prompt", "answer", "held"),
    [
        ("The capital is  Port\nMoresby, say it", "port moresby", True),
        ("The capital of Papua", "port moresby", False),
        ("Pick A, B or C", "A", False),
        ("What is 12 + 30?", "12", False),
        ("Add 123456789 and 1", "123456789", False),
        ("Say unpredictable things", "predictable", False),
        (CHOICE, "the Eiffel Tower", False),
        (CHOICE + "\nIt is the Eiffel Tower.", "the Eiffel Tower.", True),
        ("anything", None, False),
        ("anything", {"a": 1}, False),
    ],
)
def test_an_answer_is_found_in_a_prompt_only_word_for_word(
    prompt: str, answer: Any, held: bool
) -> None:
    assert holds_answer(prompt, answer) is held


@pytest.mark.parametrize(
    ("prompt", "empty"),
    [
        ("", True),
        ("  \n", True),
        ([], True),
        ([{"role": "user", "content": " "}], True),
        ([{"role": "user", "content": None}], True),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], True),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], False),
        ([{"role": "system", "content": "x"}], False),
    ],
)
def test_a_prompt_is_empty_when_nothing_can_be_read_or_seen(prompt: Any, empty: bool) -> None:
    assert is_empty(prompt) is empty


def test_texts_of_all_messages_and_parts_are_read() -> None:
    parts = [{"type": "text", "text": "b"}, {"type": "image_url"}, "c"]
    prompt = [{"role": "system", "content": "a"}, {"role": "user", "content": parts}, "d"]
    assert text_of(prompt) == "a\nb"


def test_what_is_found_is_counted_and_the_first_few_are_named() -> None:
    same = SurveyedExample("Say it", "it")
    found = survey(
        [
            same,
            SurveyedExample("Say it", "no"),
            *[same] * 14,
            SurveyedExample(" ", "x"),
            SurveyedExample(None, ""),
        ]
    )
    assert found["examples"] == 18
    assert found["answered"] == 17
    assert found["counts"] == {"empty": 1, "duplicates": 14, "conflicts": 1, "leaks": 0}
    assert found["named"]["duplicates"] == list(range(2, 12))
    assert found["named"]["conflicts"] == [1]


def test_examples_that_differ_in_anything_else_are_not_duplicates() -> None:
    found = survey([SurveyedExample("go", None, {"seed": n}) for n in range(3)])
    assert found["counts"]["duplicates"] == found["counts"]["conflicts"] == 0


def test_more_examples_are_surveyed_than_are_run(model: ScriptedModel, log: Path) -> None:
    spec = small_spec(model, "calls_out", n=100, first=2, r=2, survey=True)
    said = run_worker(spec, log)
    assert said.survey is not None
    assert said.survey.examples == said.survey.counts["leaks"] == 3
    assert said.survey.counts["duplicates"] == 2
    assert (said.started.planned, len(said.rollouts)) == (4, 4)
    assert said.started.weights == {"<lambda>": 2.0}
