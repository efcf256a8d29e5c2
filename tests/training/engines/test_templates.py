"""Conversations under every chat template of the installed TRL, whatever its turns end with."""

from pathlib import Path
from typing import Any

import pytest

from tests.training.engines.programs import run

pytestmark = [pytest.mark.slow, pytest.mark.network]
OF_IMAGES = {"idefics3", "llava_next", "smolvlm"}
"""They render a list of parts, and no text."""


def test_a_prompt_is_what_the_template_renders_and_holds_nothing_twice(
    trl: dict[str, Any],
) -> None:
    found = run(trl, "render_templates.py")
    assert len({each["template"] for each in found}) > 60
    walked = {each["template"] for each in found if "refused" not in each}
    refused = {each["template"] for each in found} - walked
    assert {name.removesuffix("_training") for name in refused} == OF_IMAGES
    wrong = []
    for each in found:
        turns = each.get("turns", [])
        later = turns[1:]
        # Only what the template makes impossible begins a new segment, and that is counted.
        began_anew = [turn for turn in later if not turn["continues"]]
        if (
            not all(turn["right"] and turn["once"] for turn in turns)
            or not all(turn["rewritten"] or turn["other_end"] for turn in began_anew)
            or each.get("restarts", 0) != len(began_anew)
        ):
            wrong.append(each)
    assert wrong == []
    for name in ("gemma", "gemma3", "gemma4", "llama3_1", "phi3", "qwen3", "cohere2"):
        (plain,) = (each for each in found if each["template"] == name and each["kind"] == "ended")
        assert all(turn["continues"] for turn in plain["turns"][1:]), name


def test_an_answer_ends_with_any_token_that_the_model_or_the_tokenizer_names(
    trl: dict[str, Any], tmp_path: Path
) -> None:
    (found,) = run(trl, "end_answers.py", tmp_path / "model")
    ends = set(found["ends"])
    assert ends == {2, *range(50, 80)}
    assert {how for _, how in found["answers"]} == {"stop", "length"}
    for ids, how in found["answers"]:
        assert not ends & set(ids[:-1])
        assert (ids[-1] in ends) == (how == "stop")
        assert how == "stop" or len(ids) == 8
    assert any(stop for *_, stop, _ in found["stopped"])
    for text, how, stop, has_logprobs in found["stopped"]:
        # The text that stops is the last that is sampled; what came after it is no part of a row.
        assert has_logprobs
        assert set(text) & set("abcdefghijklm") == ({stop} if stop else set())
        assert stop is None or (how, text[-1]) == ("stop", stop)
