import pytest

from prime_cli.core.errors import TooLarge
from prime_cli.pages.sample_page import sample_page
from prime_cli.pages.templates import render
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import EvaluationDetail

RUN = EvaluationDetail(evaluation_id="r1", name="a run", total_samples=3)
LINE = SampleLine(2, '["0.1"]', 0.0, False)


def test_a_sample_is_shown_turn_by_turn() -> None:
    body = {"prompt": "2+2", "completion": [{"role": "assistant", "content": "<b>"}], "reward": 1}

    html = render(sample_page(RUN, LINE, encode(body), 3)).decode()

    assert "Example 0, rollout 1" in html
    assert "&lt;b&gt;" in html
    assert 'rel="next" href="/dashboard/evaluations/r1/samples/3"' in html


def test_a_sample_too_large_for_a_page_is_left_to_its_command() -> None:
    with pytest.raises(TooLarge, match="Sample 2 has 2,097,165 bytes") as raised:
        sample_page(RUN, LINE, encode({"prompt": "x" * (2 << 20)}), 3)

    assert raised.value.hint == "get it with `prime eval samples r1 -n 1 -p 2`"
