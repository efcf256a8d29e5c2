"""Prompts that begin with the very tokens of a rollout's earlier turns.

What a model sampled is rarely what the tokenizer makes of its text, and a row that is trained on
must hold what was sampled. Only what is new in a conversation is tokenized, and only where the chat
template still renders the earlier prompt and ends the answer as it was sampled; otherwise the
prompt is tokenized whole, which begins a new segment.

Adapters for other trainers copy this file: it imports nothing of prime or of an engine.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True)
class _Turn:
    """A prompt and its answer: as text, and all their ids.

    `last` is the text of the answer's last token if that is a special one, else empty, and it
    `ended` by one. `whole` is false if the message holds less than was sampled.
    """

    asked: str
    said: str
    last: str
    ended: bool
    ids: list[int]
    whole: bool


class Conversations:
    """The prompts of rollouts, by a tokenizer of transformers; `who` names a rollout.

    Tokens of `ends` end an answer, by default `eos_token`. `restarts` counts the prompts that could
    not continue the last turn of their rollout.
    """

    def __init__(self, tokenizer: Any, ends: Iterable[int] | None = None, **template: Any) -> None:
        self.restarts = 0
        self._tokenizer = tokenizer
        self._ends = frozenset([tokenizer.eos_token_id] if ends is None else ends)
        self._template = template
        self._turns: dict[tuple[str, str], _Turn] = {}

    def prompt(self, messages: list[JSON], tools: Any, who: str, **template: Any) -> list[int]:
        """The ids of the prompt, which continues those of an earlier turn where it can."""
        options = {**self._template, **template}
        whole = self._text(messages, tools, options, ask=True)
        ids, known = None, 0
        for length in range(len(messages) - 1, 0, -1):
            turn = self._turns.get((who, _key(messages[:length])))
            if turn is None:
                continue
            known += 1
            rest = self._rest(whole, turn, self._text(messages[:length], tools, options))
            if rest is not None:
                ids = turn.ids + self._encode_after(turn.last, rest)
                break
        self.restarts += known > (ids is not None)
        return self._encode(whole) if ids is None else ids

    def remember(
        self,
        messages: list[JSON],
        said: JSON,
        who: str,
        ids: tuple[list[int], list[int]],
        *,
        tools: Any = None,
        is_whole: bool = True,
        **template: Any,
    ) -> None:
        """`said` answered `messages`; `ids` are those of the prompt and of the answer.

        The others are as in `prompt`. `is_whole` is false where `said` leaves out what was sampled,
        such as a stop string.
        """
        asked, answer = ids
        last = [token for token in answer[-1:] if token in self._tokenizer.all_special_ids]
        self._turns[who, _key([*messages, {"role": "assistant", **said}])] = _Turn(
            self._text(messages, tools, {**self._template, **template}, ask=True),
            self._tokenizer.decode(answer, skip_special_tokens=False),
            self._tokenizer.decode(last, skip_special_tokens=False),
            bool(self._ends.intersection(answer[-1:])),
            asked + answer,
            is_whole,
        )

    def forget(self, who: str | None = None) -> None:
        """The rollout is over; without a name, all of them are."""
        kept = (
            {} if who is None else {key: turn for key, turn in self._turns.items() if key[0] != who}
        )
        self._turns = kept

    def _rest(self, whole: str, turn: _Turn, before: str) -> str | None:
        """What `whole` adds to the turn; None if it does not begin with it.

        `before` is the conversation up to the answer, as the template renders it.
        """
        if not turn.whole or not whole.startswith(turn.asked):
            return None  # the template renders earlier messages in another way
        if whole.startswith(turn.asked + turn.said):
            return whole[len(turn.asked + turn.said) :]
        # Rendered in other words, such as calls of tools or trimmed: its end is what can be found.
        cut = self._end_of(before, turn)
        if cut is None or not whole.startswith(before[:cut]):
            return None
        return whole[cut:]

    def _end_of(self, before: str, turn: _Turn) -> int | None:
        """Where the answer ends in `before`: after the template's end if that was sampled.

        None where the template ends the answer with another token than it ended with.
        """
        if not before.startswith(turn.asked):
            return None
        marks = self._tokenizer.all_special_tokens
        place, end = max((before.rfind(mark, len(turn.asked)), mark) for mark in marks)
        if place < 0 or before[place + len(end) :].strip():
            return None
        if turn.last == end:
            return place + len(end)
        return None if turn.ended else place

    def _text(self, messages: list[JSON], tools: Any, template: JSON, *, ask: bool = False) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                messages, tools=tools, tokenize=False, add_generation_prompt=ask, **template
            )
        )

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode_after(self, end: str, text: str) -> list[int]:
        """The ids of what follows `end`: some tokenizers put a space before what begins a text."""
        own, ids = self._encode(end), self._encode(end + text)
        return ids[len(own) :] if ids[: len(own)] == own else self._encode(text)


def _key(messages: list[JSON]) -> str:
    """What two requests of one conversation have in common, whatever a client adds to messages."""
    return json.dumps([[each["role"], each.get("content"), _called(each)] for each in messages])


def _called(message: JSON) -> list[Any]:
    functions = (call["function"] for call in message.get("tool_calls") or ())
    return [[each.get("name"), each.get("arguments")] for each in functions]
