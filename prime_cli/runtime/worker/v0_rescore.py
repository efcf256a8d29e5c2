"""Rescore saved rollouts, which replace those of the environment.

Each release of verifiers passes the result of `environment.rollout` to the rubric in its own way,
so only that method is replaced, by one that reads a file. A restored state has messages, counts
and the saved state columns, and nothing else.
"""

import inspect
import json
from pathlib import Path
from typing import Any

from .jsonable import plain
from .request_identity import RolloutIdentity, current
from .rows import Row

EMPTY_TIMES = {"generation_ms": 0.0, "scoring_ms": 0.0, "total_ms": 0.0}


class NotSaved(Exception):
    """The rollout has no saved completion, or one of another prompt."""


class SavedRollouts:
    """The lines of a JSONL file by (example_id, rollout), read one at a time."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115 - as long as the worker lives
        self._offsets: dict[tuple[int, int], int] = {}
        offset = 0
        for line in self._file:
            row = json.loads(line)
            self._offsets[row["example_id"], row["rollout"]] = offset
            offset += len(line)

    def holds(self, identity: RolloutIdentity) -> bool:
        return (identity.example, identity.rollout) in self._offsets

    def find(self, example: int, rollout: int) -> Row:
        """Raises NotSaved."""
        offset = self._offsets.get((example, rollout))
        if offset is None:
            raise NotSaved(f"example {example} has no saved rollout {rollout}")
        self._file.seek(offset)
        return dict(json.loads(self._file.readline()))


def replay_rollouts(environment: Any, saved: SavedRollouts, *, run_rest: bool = False) -> None:
    """Make `environment.rollout` return saved rollouts instead of running any.

    With `run_rest` those that are not saved are run.
    """
    run = environment.rollout
    signature = inspect.signature(run)
    by_state = "input" in signature.parameters  # from 0.1.8 on

    async def rollout(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        identity = current.get()
        if run_rest and (identity is None or not saved.holds(identity)):
            return await run(*args, **kwargs)
        if identity is None:
            raise NotSaved("the rollout has no identity")
        row = saved.find(identity.example, identity.rollout)
        prompt = given["input"].get("prompt") if by_state else given.get("prompt")
        require_same_prompt(prompt, row["prompt"], identity.example)
        if by_state:
            return await _state(environment, row, args, kwargs)
        completion = _with_objects(row["completion"])
        return completion, _early_state(given, row, completion)

    environment.rollout = rollout


def require_same_prompt(prompt: Any, answered: Any, example: int) -> None:
    """Raise NotSaved if a completion would be scored as the answer to another prompt."""
    if _texts(prompt) != _texts(answered):
        raise NotSaved(f"the prompt of example {example} is not the one that was answered")


def _texts(prompt: Any) -> list[tuple[Any, str]]:
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    found = []
    for message in plain(prompt) or []:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        text = "\n".join(part.get("text") or "" for part in parts if isinstance(part, dict))
        role = "user" if message.get("role") == "text" else message.get("role")
        found.append((role, text))
    return found


def _early_state(given: dict[str, Any], row: Row, completion: Any) -> dict[str, Any]:
    """The state of 0.1.7 and before."""
    names = ("prompt", "answer", "task", "info", "example_id")
    state = {name: given[name] for name in names if name in given}
    state.update(
        completion=completion,
        responses=[],
        turn=_turns(completion),
        timing=dict(EMPTY_TIMES),
        stop_condition=row.get("stop_condition"),
    )
    state.update(row.get("state") or {})
    return state


async def _state(environment: Any, row: Row, args: Any, kwargs: Any) -> Any:
    """The state of 0.1.8 and later, as `init_state` begins it."""
    state = await environment.init_state(*args, **kwargs)
    messages = _normalizer()
    completion = messages(row["completion"]) if messages else row["completion"]
    state["completion"] = completion
    state["trajectory"] = list(_steps(state["prompt"], completion, row))
    state["is_completed"] = True
    state["is_truncated"] = bool(row.get("is_truncated"))
    state["stop_condition"] = row.get("stop_condition")
    for name, value in (row.get("state") or {}).items():
        state[name] = value
    return state


def _steps(prompt: Any, completion: Any, row: Row) -> Any:
    """A trajectory step for each model turn; the response itself was not saved."""
    if isinstance(completion, str):
        completion = [completion]
    if not isinstance(prompt, list):
        prompt = [prompt]
    last = len(completion) - 1
    for index, message in enumerate(completion):
        if not isinstance(message, str) and message.get("role") != "assistant":
            continue
        yield {
            "prompt": [*prompt, *completion[:index]],
            "completion": [message],
            "response": None,
            "tokens": None,
            "reward": None,
            "advantage": None,
            "is_truncated": index == last and bool(row.get("is_truncated")),
            "trajectory_id": "",
            "extras": {},
        }


def _turns(completion: Any) -> int:
    if isinstance(completion, str):
        return 1
    return sum(message.get("role") == "assistant" for message in completion)


def _normalizer() -> Any:
    """A function that converts plain messages to verifiers' own, from 0.1.11 on."""
    try:
        from verifiers.utils.message_utils import normalize_messages
    except ImportError:
        return None
    return lambda messages: normalize_messages(messages, field_name="completion")


def _with_objects(completion: Any) -> Any:
    """Tool calls as objects of openai's client, as verifiers kept them."""
    if isinstance(completion, str):
        return completion
    from openai.types.chat import ChatCompletionMessageToolCall

    for message in completion:
        if message.get("tool_calls"):
            message["tool_calls"] = [
                ChatCompletionMessageToolCall(**call) for call in message["tool_calls"]
            ]
    return completion
