"""What a command may print in each mode, whatever it is."""

import json
import re
from typing import Any

from tests.helpers.cli import Result

MODES = ("table", "plain", "json", "jsonl")

_ANSI = re.compile(r"\x1b|\x9b")
_DRAWN = re.compile(r"[\u2500-\u259f]")
_LOUD = ("warning: ", "error: ", "hint: ", "  ")
"""How lines begin that `--quiet` keeps; the last are lines of another program below an error."""


def check_data(mode: str, result: Result, *, is_text: bool) -> None:
    """stdout is what `mode` promises."""
    assert not _ANSI.search(result.out + result.err)
    match mode:
        case "json":
            assert result.out, "json is one document, and nothing was printed"
            json.loads(result.out)
        case "jsonl":
            lines = result.out.split("\n")
            assert lines.pop() == ""
            for line in lines:
                json.loads(line)
        case "plain" if not is_text:
            assert not _DRAWN.search(result.out)
            columns = {line.count("\t") for line in result.out.splitlines()}
            assert len(columns) <= 1, result.out
        case _:
            assert not _DRAWN.search(result.out)


def check_failure(mode: str, result: Result) -> None:
    """A failure is told once, with what to do next: as JSON, or in a sentence without a stop."""
    if mode in ("json", "jsonl"):
        told = _error_of(result)
    else:
        (line,) = [each for each in result.err.splitlines() if each.startswith("error: ")]
        _, _, after = result.err.partition(f"{line}\n")
        hints = [each for each in after.splitlines() if each.startswith("hint: ")]
        told = {"message": line.removeprefix("error: "), "hint": "".join(hints)}
    assert told["message"]
    assert not told["message"].endswith("."), told["message"]
    assert told["hint"], f"a next command would help after: {told['message']}"


def _error_of(result: Result) -> Any:
    documents = [line for line in result.err.splitlines() if line.startswith("{")]
    assert len(documents) == 1, result.err
    assert result.err.splitlines()[-1] == documents[0]
    told = json.loads(documents[0])
    assert told.keys() == {"error"}
    assert told["error"].keys() == {"code", "message", "hint", "detail"}
    assert told["error"]["code"]
    return told["error"]


def check_quiet(mode: str, loud: Result, quiet: Result) -> None:
    """`--quiet` takes talk away, and no data, warning or error."""
    assert quiet.code == loud.code
    assert shape(mode, quiet.out) == shape(mode, loud.out)
    talk = [line for line in quiet.err.splitlines() if not line.startswith((*_LOUD, "{"))]
    assert talk == []


def shape(mode: str, text: str) -> Any:
    """What stays the same where ids, times and places differ."""
    if mode == "json":
        return _keys(json.loads(text)) if text else None
    return len(text.splitlines())


def _keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _keys(item) for name, item in value.items()}
    if isinstance(value, list):
        return len(value)
    return None
