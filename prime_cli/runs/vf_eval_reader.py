"""Folders of vf-eval read as if they were ours: metadata.json beside results.jsonl."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import open_regular, storage_errors
from prime_cli.runs.rows import LARGEST, MOST_ATTEMPTS, Failure, Row, example_number
from prime_cli.wire.codec import mend

ROW_KEYS = frozenset(
    (
        "id example_id prime prompt completion answer info task reward error timing "
        "is_completed is_truncated stop_condition metrics tool_defs token_usage generation_ms "
        "scoring_ms total_ms error_chain long_error_chain sample_id rollout rollout_number attempt"
    ).split()
)
"""Keys of a row or a sample that are no metrics; other numbers are, from 0.1.3 to 0.1.9."""

_NUMBER = (int, float)
_KINDS: dict[str, type | tuple[type, ...]] = {
    "num_examples": int,
    "rollouts_per_example": int,
    "avg_reward": _NUMBER,
    "avg_error": _NUMBER,
    "usage": dict,
    "version_info": dict,
    "harness": str,
}


def read_metadata(path: Path) -> dict[str, Any]:
    """The object in a metadata.json, well formed; raises UsageError if there is none.

    Official files may hold NaN, as their rows do: it is read as null.
    """
    with storage_errors(path):
        content = path.read_bytes()
    try:
        return well_formed(msgspec.json.decode(mend(content), type=dict[str, Any]))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not the metadata of an evaluation: {error}") from error


def well_formed(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`metadata` without values of the wrong type, as in a folder from elsewhere."""
    found = {
        name: value
        for name, value in metadata.items()
        if name not in _KINDS or (isinstance(value, _KINDS[name]) and not isinstance(value, bool))
    }
    for name, kind in (("usage", _NUMBER), ("version_info", str)):
        if name in found:
            found[name] = {key: each for key, each in found[name].items() if isinstance(each, kind)}
    return found


def number_rows(lines: Iterable[dict[str, Any]], examples: int) -> Iterator[Row]:
    """Rows of an evaluation of `examples` examples, numbered by example and rollout.

    verifiers 0.1.3 and 0.1.5 write examples 0..n-1 once per rollout, and an `id` that is wrong
    whenever r > 1 (the official `eval push` copies it to `example_id`): for them the position
    counts. Later ones write `example_id`, which repeats. Non-numeric ones get the number of their
    first appearance.
    """
    seen: Counter[int] = Counter()
    names: dict[str, int] = {}
    for index, line in enumerate(lines):
        named = line.get("example_id")
        if named is None or line.get("id") == named:
            rollout, example = divmod(index, examples)
        else:
            example = (
                example_number(named)
                if type(named) is int
                else names.setdefault(str(named), len(names))
            )
            rollout = _rollout_of(line, seen[example])
            seen[example] += 1
        yield row_of_line(line, example, rollout)


def number_of_examples(metadata: Mapping[str, Any], count_rows: Callable[[], int]) -> int:
    """The number of examples in `metadata`, else derived from the number of rows."""
    examples = metadata.get("num_examples")
    if isinstance(examples, int) and examples > 0:
        return examples
    rollouts = metadata.get("rollouts_per_example")
    return max(1, count_rows() // max(1, rollouts if isinstance(rollouts, int) else 1))


def _rollout_of(line: dict[str, Any], otherwise: int) -> int:
    number = _own(line).get("rollout", line.get("rollout_number"))
    return number if type(number) is int and 0 <= number < MOST_ATTEMPTS else otherwise


def read_objects(path: Path, size: float = math.inf) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Byte offset, length and content of each line in `size` bytes that is a JSON object."""
    offset = 0
    with storage_errors(path), open_regular(path) as file:
        for line in file:
            if offset + len(line) - line.endswith(b"\n") > size:
                return
            value = decode_object(line)
            if value is not None:
                yield offset, len(line), value
            offset += len(line)


def decode_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on `line`, None if there is none."""
    try:
        # The standard decoder: official files may hold NaN, which msgspec refuses.
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def row_of_line(line: dict[str, Any], example: int, rollout: int) -> Row:
    """The row of a line whose number is known."""
    reward = _number(line.get("reward"))
    failure = _failure(line.get("error"))
    if failure is None and reward is not None and not abs(reward) <= LARGEST:
        failure = Failure("environment", "NoReward", "The reward is not a finite number")
    metrics = line.get("metrics")
    timing = line.get("timing")
    return Row(
        example_id=example,
        rollout=rollout,
        attempt=_attempt(_own(line).get("attempt")),
        # 0.1.14 stores 0.0 beside an error; an error is not a score.
        reward=None if failure else reward,
        metrics=metrics if isinstance(metrics, dict) else _flat_metrics(line),
        prompt=line.get("prompt"),
        completion=line.get("completion"),
        answer=line.get("answer"),
        info=line.get("info"),
        task=line.get("task"),
        error=failure,
        timing=timing if isinstance(timing, dict) else {},
        usage=_usage(line.get("token_usage")),
        stop_condition=line.get("stop_condition"),
        is_truncated=bool(line.get("is_truncated")),
        state={"tool_defs": line["tool_defs"]} if line.get("tool_defs") else {},
    )


def _own(line: dict[str, Any]) -> dict[str, Any]:
    """The extra fields of our own results.jsonl."""
    own = line.get("prime")
    return own if isinstance(own, dict) else {}


def _failure(error: object) -> Failure | None:
    if not error:
        return None
    if not isinstance(error, dict):
        return Failure("environment", "Error", str(error))
    message = error.get("error_chain_str") or error.get("message") or ""
    kind = str(error.get("error") or error.get("type") or "Error")
    words, trace = str(message).removeprefix(f"{kind}: "), error.get("traceback")
    return Failure(
        str(error.get("class") or "environment"),
        kind,
        words,
        traceback=trace if isinstance(trace, str) else None,
    )


def _flat_metrics(line: dict[str, Any]) -> dict[str, Any]:
    found = {name: _number(value) for name, value in line.items() if name not in ROW_KEYS}
    return {name: value for name, value in found.items() if value is not None}


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def _attempt(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < MOST_ATTEMPTS else 1


def _usage(usage: object) -> dict[str, Any] | None:
    if not isinstance(usage, dict):
        return None
    return {"input": usage.get("input_tokens", 0), "output": usage.get("output_tokens", 0)}
