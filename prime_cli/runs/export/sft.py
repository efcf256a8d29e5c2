"""Rollouts as rows for supervised fine-tuning, as TRL's SFTTrainer and prime-rl's `sft` read them.

A line of JSON for each branch of a rollout: `messages` in the form of OpenAI's chat, but for the
arguments of a tool call, which are an object as chat templates expect it; and `tools` as a text of
JSON. Both trainers ignore `example_id`, `rollout` and `reward`, which say where a row is from.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import msgspec

from prime_cli.core.formatting import pluralize
from prime_cli.runs.export.text import as_json
from prime_cli.runs.rows import Row
from prime_cli.runtime.worker.rows import messages as as_messages

_KEPT = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")
_OF_A_TOOL = ("name", "description", "parameters", "strict")

ERROR, CUT, LOW = "with an error", "cut at a limit of tokens or turns", "below `--min-reward`"
WORSE, OTHER = "not the best of their group", "without a conversation of texts"
"""Why a rollout is left out."""


@dataclass(frozen=True)
class Chosen:
    """Which rollouts become rows: of those with a reward of at least `least` all, or the best."""

    least: float | None = None
    only_best: bool = False


class Selection(msgspec.Struct, frozen=True):
    """What came of it: `rows` of `rollouts`; how many were `dropped`, by the reason.

    In `ties` examples several rollouts have the highest reward: the first of them was taken.
    `lost` counts the rollouts that are written without something, by what it is.
    """

    rows: int
    rollouts: int
    dropped: dict[str, int] = {}
    ties: int = 0
    lost: dict[str, int] = {}

    @property
    def words(self) -> str:
        """`12 rows of 10 rollouts; left out: 3 with an error; ...`."""
        said = [f"{pluralize(self.rows, 'row')} of {pluralize(self.rollouts, 'rollout')}"]
        if self.dropped:
            left = ", ".join(f"{count:,} {why}" for why, count in self.dropped.items())
            said.append(f"left out: {left}")
        if self.lost:
            lost = ", ".join(f"{what} of {count:,}" for what, count in self.lost.items())
            said.append(f"not written: {lost}")
        if self.ties:
            named = pluralize(self.ties, "example")
            said.append(f"the first of several best ones in {named}")
        return "; ".join(said)


def write_rows(
    file: IO[bytes], rows: Iterable[Row], again: Iterable[Row], chosen: Chosen
) -> Selection:
    """Write the rows of a run, which is read twice: `again` holds the same `rows`."""
    best, ties = _best(rows, chosen) if chosen.only_best else (None, 0)
    dropped: Counter[str] = Counter()
    written = rollouts = 0
    for row in again:
        why = _why_not(row, chosen)
        if why is None and best is not None and best[row.example_id] != (row.reward, row.rollout):
            why = WORSE
        if why is not None:
            dropped[why] += 1
            continue
        found = list(_lines(row))
        file.writelines(as_json(line) + b"\n" for line in found)
        rollouts, written = rollouts + 1, written + len(found)
    return Selection(written, rollouts, dict(dropped), ties)


def _best(rows: Iterable[Row], chosen: Chosen) -> tuple[dict[int, tuple[float, int]], int]:
    """(reward, rollout) of the best of each example, and in how many it is not the only one."""
    best: dict[int, tuple[float, int]] = {}
    tied: set[int] = set()
    for row in rows:
        if row.reward is None or _why_not(row, chosen) is not None:
            continue
        known = best.get(row.example_id)
        if known is None or row.reward > known[0]:
            best[row.example_id] = row.reward, row.rollout
            tied.discard(row.example_id)
        elif row.reward == known[0]:
            tied.add(row.example_id)
    return best, len(tied)


def _why_not(row: Row, chosen: Chosen) -> str | None:
    if row.reward is None:
        return ERROR
    if row.is_truncated:
        return CUT
    if chosen.least is not None and row.reward < chosen.least:
        return LOW
    return None if any(True for _ in _lines(row)) else OTHER


def _lines(row: Row) -> Iterator[dict[str, Any]]:
    """A line for each branch in which a model answers."""
    tools = [_declared(each) for each in row.state.get("tool_defs") or ()]
    place = {"example_id": row.example_id, "rollout": row.rollout, "reward": row.reward}
    branches = list(row.state.get("branches") or ())
    if isinstance(row.prompt, list) and isinstance(row.completion, list):
        branches.append([*row.prompt, *row.completion])
    for branch in branches:
        messages = [message_of(each) for each in as_messages(branch)]
        sound = [each for each in messages if each is not None]
        if len(sound) == len(messages) and any(each["role"] == "assistant" for each in sound):
            yield {"messages": sound, "tools": json.dumps(tools), **place}


def message_of(each: Any) -> dict[str, Any] | None:
    """A message with its content as one text; None for images and what is no message."""
    if not isinstance(each, dict) or not isinstance(each.get("role"), str):
        return None
    content = each.get("content")
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        sound = [text for text in texts if isinstance(text, str)]
        if len(sound) < len(texts):
            return None
        content = "".join(sound)
    if not isinstance(content, str | None):
        return None
    kept = {name: each[name] for name in _KEPT if each.get(name) is not None}
    if isinstance(each.get("tool_calls"), list):
        kept["tool_calls"] = [_call(call) for call in each["tool_calls"]]
    return {**kept, "content": content or ""}


def _call(call: Any) -> Any:
    """A tool call with its arguments as an object, where they are one."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError):
        return call
    return {**call, "function": {**function, "arguments": arguments}}


def _declared(tool: Any) -> Any:
    """A tool as a request declares it; verifiers has a flat shape of its own."""
    if not isinstance(tool, dict) or "function" in tool or "name" not in tool:
        return tool
    function = {name: tool[name] for name in _OF_A_TOOL if tool.get(name) is not None}
    return {"type": "function", "function": function}
