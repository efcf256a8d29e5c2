"""The environment's own oracle: `oracle(messages, *, answer, info) -> str | dict` in its module."""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

from .channel import Events
from .jsonable import plain

Gold = Callable[[int], tuple[Any, Any]]


class Oracle:
    """Answers the parent's questions with the environment's function, several at a time."""

    def __init__(self, module: Any, gold: Gold, events: Events) -> None:
        self._function = getattr(module, "oracle", None)
        if not callable(self._function):
            self._function = None
        self._gold = gold
        self._events = events
        self._answering: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        return self._function is not None

    def ask(self, question: dict[str, Any]) -> None:
        """Start answering `question`; the reply goes out as an event."""
        task = asyncio.create_task(self._reply(question))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _reply(self, question: dict[str, Any]) -> None:
        try:
            message = await self._answer(question)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            self._events.send("oracle", id=question["id"], message=None, error=text)
        else:
            self._events.send("oracle", id=question["id"], message=message, error=None)

    async def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if self._function is None:
            raise LookupError("the environment has no oracle")
        answer, info = self._gold(question["example"])
        options = {"answer": answer, "info": info, "tools": question.get("tools") or []}
        said = self._function(question["messages"], **_taken(self._function, options))
        if inspect.isawaitable(said):
            said = await said
        return as_message(said)


def as_message(said: Any) -> dict[str, Any]:
    """An oracle's answer as an assistant message in OpenAI's shape."""
    if not isinstance(said, dict):
        return {"role": "assistant", "content": str(said)}
    message = {"role": "assistant", "content": None, **plain(said)}
    for number, call in enumerate(message.get("tool_calls") or []):
        call.setdefault("id", f"call_{number}")
        call.setdefault("type", "function")
        function = call.setdefault("function", {})
        if not isinstance(function.get("arguments", ""), str):
            function["arguments"] = json.dumps(function["arguments"])
    return message


def _taken(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Those of `options` that the function has parameters for."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}
