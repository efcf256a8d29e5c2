"""An answer for ScriptedModel in vLLM's dialect: token ids and log-probabilities, when asked.

A character is a token, its number plus 10; a message is its role, its text and an end. So the
prompt of a later turn continues the tokens of the earlier one, as a good chat template has it.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prime_cli.models.endpoints import Endpoint
from prime_cli.training.policies import Policies, Policy
from prime_cli.training.recording import TokenRecorder
from tests.helpers.scripted_model import Received, Reply

END = 0
ROLES = {"system": 1, "user": 2, "assistant": 3, "tool": 4}


@dataclass(frozen=True)
class Sampled:
    """One answer as it was sampled; `user` is what the request named so."""

    user: str
    prompt: list[int]
    ids: list[int]
    logprobs: list[float]


@dataclass
class Vllm:
    """`ScriptedModel(Vllm())`; `say` gives the text of an answer, `spoil` changes its body.

    `sampled` are all answers in the order given.
    """

    say: Callable[[Received], str] = lambda request: request.last_user
    spoil: Callable[[dict[str, Any]], None] = lambda body: None
    sampled: list[Sampled] = field(default_factory=list)
    _count: Any = field(default_factory=lambda: itertools.count(1))

    def __call__(self, request: Received) -> Reply:
        text = self.say(request)
        prompt = [*_prompt(request.messages), ROLES["assistant"]]
        ids = [*_text(text), END]
        logprobs = [-next(self._count) / 1024 for _ in ids]
        asked = request.body
        self.sampled.append(Sampled(str(asked.get("user")), prompt, ids, logprobs))
        tokens = [{"token": "?", "logprob": each, "top_logprobs": []} for each in logprobs]
        body: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": asked.get("model"),
            "prompt_token_ids": prompt if asked.get("return_token_ids") else None,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                    "logprobs": {"content": tokens} if asked.get("logprobs") else None,
                    "token_ids": ids if asked.get("return_token_ids") else None,
                }
            ],
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": len(ids),
                "total_tokens": len(prompt) + len(ids),
            },
        }
        self.spoil(body)
        return Reply(raw=json.dumps(body).encode())

    def of(self, example: int, rollout: int) -> list[Sampled]:
        """The answers to one rollout."""
        return [each for each in self.sampled if each.user == f"{example}.{rollout}"]


def _prompt(messages: list[dict[str, Any]]) -> list[int]:
    return [
        token
        for message in messages
        for token in (ROLES[message["role"]], *_text(str(message.get("content") or "")), END)
    ]


def _text(text: str) -> list[int]:
    return [ord(character) + 10 for character in text]


def recorder_with(
    sampling: dict[str, Any] | None = None,
    version: int = 0,
    *,
    session: dict[str, Any] | None = None,
) -> TokenRecorder:
    """A recorder for one policy of the run's model `scripted`, which samples so.

    `session` is the sampling that the worker sends with every call.
    """
    policies = Policies(Policy(sampling=sampling or {}, version=version), session)
    return TokenRecorder(policies, Endpoint("scripted"))
