"""Tool calls as chat templates show them, and which variant of a template a training uses."""

import json
from typing import Any

from trl.chat_template_utils import get_training_chat_template, supports_tool_calling

from .answers import BLANK, THOUGHTS, Answers


def require_tools(tokenizer: Any, answers: Answers) -> None:
    """Raise ValueError for a model whose template shows no tools, or whose calls nobody reads."""
    if not supports_tool_calling(tokenizer):
        raise ValueError("its chat template shows no tool calls and their results")
    if not answers.reads_calls:
        raise ValueError("no parser is known for the tool calls of its template")


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
    if message.get(THOUGHTS) == BLANK:
        message = {name: value for name, value in message.items() if name != THOUGHTS}
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
