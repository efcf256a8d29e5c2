from collections.abc import Sequence
from typing import Any

import pytest

from prime_cli.pages.rollout import RolloutSample
from prime_cli.pages.run_page import ExampleTable, Wanted, list_examples, texts_of
from prime_cli.pages.runs import Fact, RunFilter
from tests.pages.listed import Listed

REWARDS: list[list[float | None]] = [[1.0, 1.0], [0.2, 0.9], [0.0, 0.1], [None, 0.4]]


def listed(matching: Sequence[int] | None = None, **wanted: Any) -> ExampleTable:
    filters = RunFilter(**{name: wanted.pop(name) for name in ("sort", "only") if name in wanted})
    return list_examples(Listed.of(REWARDS), matching, Wanted(filters, **wanted), "/r1")


def names(table: ExampleTable) -> list[str]:
    return [line.name for line in table.lines]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("", ["e0", "e1", "e2", "e3"]),
        ("spread", ["e1", "e2", "e0", "e3"]),
        ("lowest", ["e2", "e3", "e1", "e0"]),
        ("unknown", ["e0", "e1", "e2", "e3"]),
    ],
)
def test_examples_are_sorted_by_their_spread_or_mean(sort: str, expected: list[str]) -> None:
    assert names(listed(sort=sort)) == expected


def test_a_row_tells_of_the_matching_rollout_with_the_lowest_reward() -> None:
    assert [line.texts.said for line in listed().lines] == ["1.0", "0.2", "0.0", "0.4"]
    narrowed = listed([3, 6])
    assert names(narrowed) == ["e1", "e3"]
    assert [line.texts.said for line in narrowed.lines] == ["0.9", "nan"]
    assert [dot.kind for dot in narrowed.lines[0].dots] == ["r1 other", "r4"]


def test_an_example_opens_in_its_place_beside_the_rollout_that_differs_most() -> None:
    table = listed(opened="2", sort="spread")
    assert [line.name for line in table.lines if line.sides] == ["e1"]
    line = table.lines[0]
    assert [side.content.reward for side in line.sides] == ["0.2", "0.9"]
    assert line.path == "/r1?sort=spread#e1"
    assert line.sides[0].choices[1].path == "/r1?sort=spread&beside=3&open=3#open"
    assert not listed(opened="99").is_open
    assert not listed([0], opened="2").is_open


def test_the_rollout_beside_can_be_chosen() -> None:
    source = Listed.of([[0.0, 0.5, 1.0]])
    (line,) = list_examples(source, None, Wanted(opened="0", beside="1"), "/r1").lines
    assert [side.content.reward for side in line.sides] == ["0", "0.5"]


def test_the_page_is_the_one_of_the_open_example() -> None:
    source = Listed.of([[0.5]] * 500)
    table = list_examples(source, None, Wanted(opened="499"), "/r1")
    assert table.lines[-1].name == "e499"
    assert table.next is None
    assert len(table.lines[-1].sides) == 1


def test_the_strip_has_a_square_for_each_example_and_leads_to_every_page() -> None:
    assert [each.label for each in listed().strip][1:3] == ["Example e1: 0.55", "Example e2: 0.05"]
    assert [each.path for each in listed().strip] == ["#e0", "#e1", "#e2", "#e3"]
    source = Listed.of([[row / 500] for row in range(500)])
    strip = list_examples(source, None, Wanted(page=2), "/r1").strip
    assert len(strip) <= 48
    assert strip[0].path == "/r1?page=1#e0"
    assert strip[-1].path.startswith("/r1?page=10#e")


def test_chips_keep_the_order_and_drop_the_page() -> None:
    chips = {chip.label: chip for chip in listed(sort="spread", only="wrong", page=1).chips}
    assert chips["flipped"].path == "/r1?only=flipped&sort=spread#rollouts"
    assert [label for label, chip in chips.items() if chip.is_here] == ["wrong"]


def test_what_a_row_says_is_the_task_the_answer_and_the_end_of_what_was_said() -> None:
    prompt = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "2\n+ 2?"}]
    said = [
        {"role": "assistant", "content": "word " * 90 + "so 4"},
        {"role": "assistant", "tool_calls": []},
    ]
    texts = texts_of(RolloutSample(prompt=prompt, completion=said, answer=4))
    assert (texts.prompt, texts.expected) == ("2 + 2?", "4")
    assert texts.said.startswith("…")
    assert texts.said.endswith("word so 4")
    failed = texts_of(RolloutSample(error=Fact("infra error", "timed out")))
    assert failed == ("", "", "infra error: timed out", True)
