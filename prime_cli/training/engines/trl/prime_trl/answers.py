"""An answer as a message: its text, its thoughts and its calls of tools, read from its tokens.

The one place that does this: for the policy of a training, in steps and evaluations, and through
`serve.py` for transformers' server. How models of a family write is said by a response template of
transformers. TRL, which has more of these, need not be installed.
"""

import json
import re
from types import SimpleNamespace
from typing import Any

JSON = dict[str, Any]
_TOOLS, THOUGHTS = "tool_calls", "reasoning_content"
BLANK = " "
"""The thoughts of an answer that is empty: verifiers 0.1.12 to 0.3.1 call one without text, calls
and thoughts an error of the model, and never score it.
"""
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError)


class Answers:
    """Reads the answers of a model by its `tokenizer` and its `kind`, the `model_type` of its
    config.json. Without a response template for them an answer is its text.
    """

    def __init__(self, tokenizer: Any, kind: str | None = None) -> None:
        self._tokenizer = tokenizer
        self._template = _template_of(tokenizer, kind)

    @property
    def reads_calls(self) -> bool:
        """Whether calls of tools can be read from an answer."""
        return _TOOLS in (self._template or {}).get("fields", ())

    def message(
        self, prompt: list[int], ids: list[int], tools: list[Any] | None, stop: str | None = None
    ) -> JSON:
        """The answer `ids` to `prompt` as a message, without the text from `stop` on.

        Calls are read if there are `tools`; those that cannot be read stay its text.
        """
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        raw = self._tokenizer.decode(ids, skip_special_tokens=False)
        if stop is not None:
            text, raw = text.partition(stop)[0], raw[: raw.rfind(stop)] if stop in raw else text
        asked = self._tokenizer.decode(prompt, skip_special_tokens=False)
        found = self._read(asked, raw, tools) if tools else None
        if found is None:
            found = self._read(asked, raw, None) or {}
        said: JSON = {"role": "assistant", "content": text, **found}
        for place, call in enumerate(said.get(_TOOLS, ())):
            # Numbered, so that a training that is resumed asks with the same text.
            call["id"] = f"call_{len(prompt)}_{place}"
        if not any(said.get(name) for name in ("content", _TOOLS, THOUGHTS)):
            said[THOUGHTS] = BLANK
        return said

    def _read(self, asked: str, raw: str, tools: list[Any] | None) -> JSON | None:
        """What a message has besides or instead of its text; None for what cannot be read."""
        if self._template is None or not raw:
            return None
        fields = self._template["fields"]
        if not tools:
            fields = {name: field for name, field in fields.items() if name != _TOOLS}
        template = {**self._template, "fields": fields}
        try:
            begun = asked if _has_anchor(template, asked) else ""
            found = self._tokenizer.parse_response(raw, template, prefix=begun, tools=tools)
            calls = [_call(each["function"]) for each in found.get(_TOOLS) or ()]
        except _UNREADABLE:
            return None
        thoughts = found.get(THOUGHTS) or found.get("thinking")
        if not calls and not thoughts:
            return {}
        # Blank lines between thoughts and text belong to neither.
        read: JSON = {"content": self._without_marks(found.get("content") or "").lstrip("\n")}
        if thoughts:
            read[THOUGHTS] = self._without_marks(thoughts)
        return read | ({_TOOLS: calls} if calls else {})

    def _without_marks(self, text: str) -> str:
        for mark in self._tokenizer.all_special_tokens:
            text = text.replace(mark, "")
        return text


def _has_anchor(template: JSON, asked: str) -> bool:
    """Whether the answer's beginning is found in the prompt; else all of it were read as said."""
    literal = template.get("start_anchor") or []
    literals = [literal] if isinstance(literal, str) else literal
    pattern = template.get("start_anchor_pattern")
    found = pattern is not None and re.search(pattern, asked) is not None
    return found or any(each in asked for each in literals)


def events_of(completion: JSON, *, with_usage: bool = False) -> list[str]:
    """A chat completion as the events of a stream, its message in one piece.

    Its usage is in the same event, or `with_usage` in one of its own, as the API has it.
    """
    chunk = {**completion, "object": "chat.completion.chunk"}
    chunk["choices"] = [_delta(choice) for choice in completion["choices"]]
    chunks = [chunk]
    if with_usage:
        chunks = [{**chunk, "usage": None}, {**chunk, "choices": []}]
    return [f"data: {text}\n\n" for text in (*map(json.dumps, chunks), "[DONE]")]


def _delta(choice: JSON) -> JSON:
    message = dict(choice["message"])
    if calls := message.get(_TOOLS):
        message[_TOOLS] = [{**call, "index": place} for place, call in enumerate(calls)]
    others = {name: value for name, value in choice.items() if name != "message"}
    return {**others, "delta": message}


def _call(function: JSON) -> JSON:
    """A call as the API has it; raises KeyError or TypeError for one without a name."""
    name, arguments = function["name"], function.get("arguments")
    if not isinstance(name, str):
        raise TypeError(f"a tool's name is a text, not {name!r}")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"type": "function", "function": {"name": name, "arguments": text}}


def _template_of(tokenizer: Any, kind: str | None) -> JSON | None:
    """That which came with the model, else TRL's for its chat template, else that of its kind."""
    own: JSON | None = getattr(tokenizer, "response_template", None)
    return own or _of_chat_template(tokenizer.chat_template) or _of_kind(kind)


def _of_chat_template(template: str) -> JSON | None:
    try:
        from trl.chat_template_utils import add_response_schema

        found = add_response_schema(SimpleNamespace(chat_template=template))
    except (ImportError, ValueError):  # not installed, or not in its table
        return None
    read: JSON | None = getattr(found, "response_template", None)
    return read


def _of_kind(kind: str | None) -> JSON | None:
    try:
        from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS as KNOWN
    except ImportError:  # an earlier release
        return None
    return next((each for kinds, each in KNOWN.items() if kind in kinds), None)
