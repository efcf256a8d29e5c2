"""What the hub reads of a sample, whose JSON it keeps as it came."""

import hashlib
from dataclasses import dataclass

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.hub.services.evaluations.statistics import REWARD

_MOST_SCORES = 100
_LONGEST_NAME = 200
_LAST_ATTEMPT = 2**31 - 1
_NO_ERROR = frozenset({b"null", b"false", b'""', b"{}", b"[]"})
_NOT_SCORES = frozenset({"id", "example_id", "rollout", "rollout_number", "attempt", REWARD})
_OBJECT_START = ord("{")
_NUMBER_STARTS = b"-0123456789"

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NUMBER = msgspec.json.Decoder(float)
_NAME = msgspec.json.Decoder(str | int)


@dataclass(slots=True)
class Sample:
    """One rollout. `identity` tells it from others, None if it does not say which one it is;
    `scores` are the numbers in it by name, `body` is its JSON.
    """

    identity: str | None
    attempt: int
    reward: float | None
    failed: bool
    scores: dict[str, float]
    body: msgspec.Raw


def read_sample(body: msgspec.Raw) -> Sample:
    """The fields of a JSON object; raises UsageError for anything else.

    A sample is named by its `sample_id`, or by `example_id` with `rollout_number` (or `rollout`);
    its `attempt` counts the tries at that rollout. Numbers are scores: those of the object
    `metrics`, and those that stand in the sample itself, as verifiers writes either.
    """
    try:
        fields = _FIELDS.decode(body)
        scores = _scores(fields)
        inner = fields.get("metrics")
        if inner is not None and memoryview(inner)[0] == _OBJECT_START:
            scores |= _scores(_FIELDS.decode(inner))
        return Sample(
            identity=_identity(fields),
            attempt=_attempt(fields),
            reward=_number(fields.get(REWARD)),
            failed=bytes(fields.get("error", b"null")) not in _NO_ERROR,
            scores=dict(list(scores.items())[:_MOST_SCORES]),
            body=body,
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"A sample is not a JSON object with finite numbers: {error}") from error


def text_of(sample: Sample) -> str:
    """The JSON of a sample; raises UsageError for bytes that are no UTF-8."""
    try:
        return bytes(sample.body).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"A sample is not UTF-8: {error}") from error


def _scores(fields: dict[str, msgspec.Raw]) -> dict[str, float]:
    return {
        name: _NUMBER.decode(raw)
        for name, raw in fields.items()
        if name not in _NOT_SCORES and len(name) <= _LONGEST_NAME and _is_number(raw)
    }


def _is_number(raw: msgspec.Raw) -> bool:
    return memoryview(raw)[0] in _NUMBER_STARTS


def _number(raw: msgspec.Raw | None) -> float | None:
    return _NUMBER.decode(raw) if raw is not None and _is_number(raw) else None


def _name(raw: msgspec.Raw | None) -> str:
    """A name from JSON: a text, or a whole number as one; empty for all else."""
    if raw is None:
        return ""
    try:
        return str(_NAME.decode(raw))
    except msgspec.ValidationError:
        return ""


def _identity(fields: dict[str, msgspec.Raw]) -> str | None:
    """The name as JSON, or its digest where an index could not hold it.

    Samples that come one after the other then mostly stand together in the index as well.
    """
    parts = [_name(fields.get("sample_id"))]
    if not parts[0]:
        parts = [
            _name(fields.get("example_id")),
            _name(fields.get("rollout_number")) or _name(fields.get("rollout")),
        ]
    if not all(parts):
        return None
    name = msgspec.json.encode(parts)
    if len(name) > _LONGEST_NAME:
        return hashlib.sha256(name).hexdigest()
    return name.decode()


def _attempt(fields: dict[str, msgspec.Raw]) -> int:
    number = _number(fields.get("attempt")) or 0
    return int(min(max(number, 0), _LAST_ATTEMPT))
