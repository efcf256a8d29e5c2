"""Tool calls: whether a model's chat template shows them, and reading them from what was sampled.

Both by TRL's own table of chat templates, whose parsers read what the models of a family write.
"""

import copy
import json
from typing import Any

from trl.chat_template_utils import (
    add_response_schema,
    get_training_chat_template,
    parse_response,
    supports_tool_calling,
)


class ToolFormat:
    """How the models of one chat template write tool calls."""

    def __init__(self, tokenizer: Any) -> None:
        """Raises ValueError for a template that shows no tools, or is not in TRL's table."""
        if not supports_tool_calling(tokenizer):
            raise ValueError("its chat template shows no tool calls and their results")
        self._tokenizer = copy.deepcopy(tokenizer)  # what is set on it would be saved with weights
        if not _reads_answers(tokenizer):
            try:
                add_response_schema(self._tokenizer)
            except ValueError as error:
                raise ValueError("TRL has no parser for the tool calls of its template") from error

    def message(self, prompt: list[int], ids: list[int], tools: list[Any]) -> dict[str, Any]:
        """The answer `ids` to `prompt` as a message; calls that cannot be read stay its text."""
        found = parse_response(self._tokenizer, ids, prefix=prompt, tools=tools)
        message = {"role": "assistant", "content": found.get("content") or ""}
        thoughts = found.get("reasoning_content") or found.get("thinking")
        if thoughts:
            message["reasoning_content"] = thoughts
        calls = [_function(call) for call in found.get("tool_calls") or ()]
        if calls:
            # Numbered, so that a training that is resumed asks with the same text.
            named = [(f"call_{len(prompt)}_{n}", call) for n, call in enumerate(calls)]
            message["tool_calls"] = [
                {"id": name, "type": "function", "function": call} for name, call in named
            ]
        return message


def _reads_answers(tokenizer: Any) -> bool:
    names = ("response_template", "response_schema")
    return any(getattr(tokenizer, name, None) is not None for name in names)


def _function(call: dict[str, Any]) -> dict[str, str]:
    arguments = call["function"].get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"name": call["function"]["name"], "arguments": text}


def template_of(tokenizer: Any) -> str | None:
    """TRL's variant of the chat template that leaves earlier turns as they were; None for its own.

    Qwen3's, for one, drops the thoughts of earlier turns, after which each turn would be a row of
    its own.
    """
    try:
        found = get_training_chat_template(tokenizer)
    except ValueError:  # not in TRL's table: used as it is, and what forks is counted
        return None
    return None if found is None else str(found)


def with_objects(messages: list[Any]) -> list[Any]:
    """Messages as chat templates expect them: arguments as objects, and always a content."""
    return [_with_objects(message) for message in messages]


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if message.get("content") is None:
        message = {**message, "content": ""}
    if not calls:
        return {name: value for name, value in message.items() if name != "tool_calls"}
    read = [{**call, "function": _read(call["function"])} for call in calls]
    return {**message, "tool_calls": read}


def _read(function: dict[str, Any]) -> dict[str, Any]:
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (TypeError, ValueError):
        return function
    return {**function, "arguments": arguments}
