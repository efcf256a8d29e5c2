"""What clients say of an evaluation: bounded, and kept as JSON."""

from typing import Any

from prime_cli.core.errors import TooLarge, UsageError
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import EvaluationRequest, EvaluationUpdate

_LONGEST_NAME = 500
_LONGEST_TEXT = 100_000
_LONGEST_ERROR = 4096
_MOST_TAGS = 100
_MOST_JSON = 1024 * 1024
_DEEPEST = 64

TEXTS = ("name", "model_name", "dataset", "framework", "task_type", "description")
_LIMITS = {"description": _LONGEST_TEXT, "error_message": _LONGEST_ERROR}


def columns_of(said: EvaluationRequest | EvaluationUpdate) -> dict[str, Any]:
    """The columns that a request names, what it leaves out left out; raises UsageError, TooLarge.

    Texts have at most 500 characters, a description 100,000, an error message 4,096; metadata and
    metrics 1 MiB of JSON each, nested at most 64 deep.
    """
    texts = {name: getattr(said, name) for name in TEXTS}
    if isinstance(said, EvaluationRequest):
        texts |= {"suite_id": said.suite_id, "run_id": said.run_id}
    else:
        texts |= {"error_message": said.error_message}
    columns: dict[str, Any] = {
        name: _text(name, text) for name, text in texts.items() if text is not None
    }
    if said.tags is not None:
        columns["tags"] = _tags(said.tags)
    for name, value in (("metadata", said.metadata), ("metrics", said.metrics)):
        if value is not None:
            columns[name] = json_object(name, value)
    if said.is_public is not None:
        columns["is_public"] = said.is_public
    if columns.get("name") == "":
        raise UsageError("An evaluation needs a name")
    return columns


def json_object(name: str, value: dict[str, Any]) -> str:
    """`value` as JSON text; raises UsageError or TooLarge above the bounds."""
    _require_depth(name, value)
    text = encode(value)
    if len(text) > _MOST_JSON:
        raise TooLarge(f"`{name}` has more than {_MOST_JSON} bytes")
    return text.decode()


def _text(name: str, text: str) -> str:
    longest = _LIMITS.get(name, _LONGEST_NAME)
    if len(text) > longest:
        raise UsageError(f"`{name}` has more than {longest} characters")
    return text


def _tags(tags: list[str]) -> str:
    if len(tags) > _MOST_TAGS:
        raise UsageError(f"More than {_MOST_TAGS} tags are given")
    return encode([_text("tags", tag) for tag in tags]).decode()


def _require_depth(name: str, value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise UsageError(f"`{name}` is nested more than {_DEEPEST} deep")
