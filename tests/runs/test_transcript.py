import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runs.transcript import as_text, parse_position, transcript
from tests.runs.rows import row


def test_turns_tool_calls_and_result_are_reported_in_order() -> None:
    call = {"id": "1", "function": {"name": "add", "arguments": '{"a": 1}'}}
    told = transcript(
        row(
            3,
            1,
            0.5,
            prompt=[{"role": "user", "content": "1+1?"}],
            completion=[
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "content": "2"},
                {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
            ],
            answer="2",
            metrics={"exact": 1.0},
        )
    )
    assert told == [
        ("rollout", "3.1"),
        ("user", "1+1?"),
        ("assistant calls", 'add({"a": 1})'),
        ("tool", "2"),
        ("assistant", "two"),
        ("answer", "2"),
        ("reward", "0.5"),
        ("exact", "1"),
    ]


def test_tool_calls_saved_as_json_strings_are_read() -> None:
    call = '{"function": {"name": "f", "arguments": "{}"}}'
    message = {"role": "assistant", "content": None, "tool_calls": [call, "not json"]}
    told = transcript(row(0, completion=[message]))
    assert ("assistant calls", "f({})") in told
    assert ("assistant calls", "not json") in told


def test_an_error_is_reported_and_no_reward_is_made_up() -> None:
    told = dict(transcript(row(0, reward=None, prompt="plain text")))
    assert told["text"] == "plain text"
    assert told["error"] == "infra: APITimeoutError: Request timed out"
    assert told["reward"] == "none"


@pytest.mark.parametrize(("levels", "is_said"), [(200, False), (201, True), (100_000, True)])
def test_what_is_nested_too_deeply_is_said_to_be(levels: int, is_said: bool) -> None:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    assert (as_text(value) == "This is nested too deeply to be shown.") is is_said


@pytest.mark.parametrize(
    "text", ["", "1", "1.", ".1", "a.b", "1.-", "1.2.3", "--1.0", "\uff11.0", "1" * 20 + ".0"]
)
def test_an_invalid_position_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a rollout"):
        parse_position(text)


def test_positions_count_from_zero() -> None:
    assert parse_position("10.2") == (10, 2)


def test_a_position_may_be_below_zero_where_a_dataset_counts_so() -> None:
    assert parse_position("-3.0") == (-3, 0)
    assert parse_position(f"{-(1 << 62) + 1}.-1") == (-(1 << 62) + 1, -1)
