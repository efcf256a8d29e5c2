"""Prompts that begin with the very tokens of a rollout's earlier turns.

What a model sampled is rarely what the tokenizer makes of its text, and a row that is trained on
must hold what was sampled. Only what is new in a conversation is tokenized.
"""

import json
from typing import Any

JSON = dict[str, Any]


class Conversations:
    """The prompts of rollouts, by a tokenizer of transformers; `who` names a rollout."""

    def __init__(self, tokenizer: Any, **template: Any) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._known: dict[tuple[str, str], list[int]] = {}

    def prompt(self, messages: list[JSON], tools: Any, who: str) -> list[int]:
        """The ids of the prompt, which continues those of an earlier turn where it can."""
        whole = self._text(messages, tools, ask=True)
        for length in range(len(messages) - 1, 0, -1):
            known = self._known.get((who, _key(messages[:length])))
            if known is None:
                continue
            rest = self._rest(whole, self._text(messages[:length], tools), known)
            if rest is not None:
                return known + self._encode(rest)
        return self._encode(whole)

    def remember(self, messages: list[JSON], said: JSON, who: str, ids: list[int]) -> None:
        """`said` answered `messages`; `ids` are all tokens up to its end."""
        self._known[who, _key([*messages, {"role": "assistant", **said}])] = ids

    def forget(self, who: str) -> None:
        """The rollout is over."""
        for each in [key for key in self._known if key[0] == who]:
            del self._known[each]

    def _rest(self, whole: str, before: str, known: list[int]) -> str | None:
        """What `whole` adds to the turn that `known` are the tokens of; None if it is another."""
        end = self._tokenizer.eos_token
        cut = before.rfind(end) if end else -1
        if cut < 0:
            cut = len(before)
        elif known[-1] == self._tokenizer.eos_token_id:
            cut += len(end)
        return whole[cut:] if whole.startswith(before[:cut]) else None

    def _text(self, messages: list[JSON], tools: Any, *, ask: bool = False) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages, tools=tools, tokenize=False, add_generation_prompt=ask, **self._template
        )
        return text

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


def _key(messages: list[JSON]) -> str:
    kept = [[each["role"], each.get("content"), each.get("tool_calls")] for each in messages]
    return json.dumps(kept, sort_keys=True)
