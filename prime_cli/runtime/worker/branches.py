"""What a row has beside its conversation: the tools that the model saw, and its other branches.

A rollout has several branches where a turn did not continue the conversation before it, as after a
compaction. The row's own conversation is the last of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from . import rows
from .jsonable import plain

_Messages = list[Any]


def of_trace(trace: Any) -> dict[str, Any]:
    """The part of a row's `state` that a v1 trace gives; empty without tools and branches."""
    every = [[node.message for node in each.nodes] for each in trace.branches[:-1]]
    return _found(getattr(trace, "tools", None), map(rows.messages, every))


def of_state(state: Mapping[str, Any], info: Any) -> dict[str, Any]:
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
        asked, said = rows.messages(step.get("prompt")), rows.messages(step.get("completion"))
        if not isinstance(asked, list) or not isinstance(said, list):
            return []
        leaves = [each for each in leaves if asked[: len(each)] != each]
        leaves.append([*asked, *said])
    return leaves
