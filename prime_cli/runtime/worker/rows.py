"""Rows: the payload of `rollout` events, the same for every family of verifiers.

Beside its conversation a row has the tools that the model saw, and its other branches. A rollout
has several where a turn did not continue the conversation before it, as after a compaction; the
row's own conversation is the last of them.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .failures import describe
from .jsonable import number, plain
from .request_identity import RolloutIdentity

Row = dict[str, Any]
_Messages = list[Any]


def finished(identity: RolloutIdentity, **found: Any) -> Row:
    """A scored rollout; a reward that is not a finite number is an error."""
    row = blank(identity)
    row.update(found)
    reward = number(row["reward"])
    if reward is None and row["error"] is None:
        row["error"] = describe(
            ValueError(f"the reward is not a number: {row['reward']!r}"), in_scoring=True
        )
    row["reward"] = None if row["error"] is not None else reward
    row["metrics"] = {str(name): number(value) for name, value in (row["metrics"] or {}).items()}
    row["prompt"] = messages(row["prompt"])
    row["completion"] = messages(row["completion"])
    return row


def failed(
    identity: RolloutIdentity, error: BaseException, *, in_scoring: bool = False, **found: Any
) -> Row:
    """A rollout that failed with `error`; with `in_scoring` after its completion."""
    return finished(identity, error=describe(error, in_scoring=in_scoring), **found)


def blank(identity: RolloutIdentity) -> Row:
    return {
        "example_id": identity.example,
        "rollout": identity.rollout,
        "attempt": identity.attempt,
        "again": None,
        "reward": None,
        "metrics": {},
        "prompt": None,
        "completion": None,
        "answer": None,
        "info": None,
        "task": None,
        "error": None,
        "timing": {},
        "usage": None,
        "stop_condition": None,
        "is_truncated": False,
        "state": {},
    }


def messages(value: Any) -> Any:
    """Messages as plain dicts, their tool calls as objects; a text completion stays a string."""
    if value is None or isinstance(value, str):
        return value
    return [_message(item) for item in plain(value)]


def _message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    kept = {name: value for name, value in message.items() if value is not None}
    kept.setdefault("content", message.get("content"))
    if message.get("tool_calls"):
        kept["tool_calls"] = [_tool_call(call) for call in message["tool_calls"]]
    return kept


def _tool_call(call: Any) -> Any:
    if isinstance(call, str):
        try:
            call = json.loads(call)
        except ValueError:
            return call
    if isinstance(call, dict) and "function" not in call and "name" in call:
        # verifiers 0.1.10 and later keep a flat shape of their own.
        function = {"name": call["name"], "arguments": call.get("arguments", "")}
        return {"id": call.get("id"), "type": "function", "function": function}
    return call


def seconds(timing: Any) -> dict[str, float]:
    """Timing of any family as {stage: seconds}; up to 0.1.13 it is in milliseconds."""
    timing = plain(timing)
    if not isinstance(timing, dict):
        return {}
    spans = {name: _span(v) if isinstance(v, dict) else number(v) for name, v in timing.items()}
    return {
        name.removesuffix("_ms"): round(value / 1000 if name.endswith("_ms") else value, 6)
        for name, value in spans.items()
        if value is not None and name not in ("start", "start_time")
    }


def _span(span: dict[str, Any]) -> float:
    """Seconds of {start, end}, of {spans: [...]} or of {duration}."""
    if "spans" in span:
        return sum(_span(item) for item in span["spans"])
    if number(span.get("duration")) is not None:
        return float(span["duration"])
    start, end = number(span.get("start")), number(span.get("end"))
    return max(0.0, end - start) if start and end else 0.0


# --- What a row has beside its conversation ---


def trace_extras(trace: Any) -> dict[str, Any]:
    """The part of a row's `state` that a v1 trace gives; empty without tools and branches."""
    every = [[node.message for node in each.nodes] for each in trace.branches[:-1]]
    return _found(getattr(trace, "tools", None), map(messages, every))


def state_extras(state: Mapping[str, Any], info: Any) -> dict[str, Any]:
    """The same of the state of a v0 rollout, whose `info` may name tools."""
    named = info.get("oai_tools") if isinstance(info, dict) else None
    return _found(
        state.get("tool_defs") or state.get("oai_tools") or named,
        # A rollout that is scored again has no trajectory, but what was saved of it.
        _leaves(state.get("trajectory") or ())[:-1] or state.get("branches") or [],
    )


def _found(tools: Any, branches: Iterable[_Messages]) -> dict[str, Any]:
    found = {"tool_defs": plain(tools or []), "branches": list(branches)}
    return {name: value for name, value in found.items() if value}


def _leaves(trajectory: Iterable[Any]) -> list[_Messages]:
    """The conversations that no later turn continues, the one of the last turn last."""
    leaves: list[_Messages] = []
    for step in trajectory:
        asked, said = messages(step.get("prompt")), messages(step.get("completion"))
        if not isinstance(asked, list) or not isinstance(said, list):
            return []
        leaves = [each for each in leaves if asked[: len(each)] != each]
        leaves.append([*asked, *said])
    return leaves
