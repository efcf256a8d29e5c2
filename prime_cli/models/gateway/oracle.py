"""What `builtin/oracle` needs to know: gold answers, or the environment's own oracle."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prime_cli.core.errors import PrimeError

_LONGEST_THOUGHT_S = 600.0

Message = str | Mapping[str, Any]
"""An assistant's turn: its text, or a message that may hold `tool_calls`."""


@dataclass(frozen=True)
class OracleQuestion:
    """One turn that the environment's own oracle is asked for."""

    example: int
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


class OracleFailed(Exception):
    """The environment's own oracle failed, or there is no gold answer."""


Ask = Callable[[OracleQuestion], Awaitable[Message | None]]


class GoldAnswers:
    """Gold answers by example; empty until the worker has loaded the environment.

    The runner calls `learn` when it reads the worker's `start`. Calls that come in before that
    (the worker does not wait for us) are held for at most `patience` seconds.
    """

    def __init__(self, answers: Mapping[str, Any] | None = None, *, patience: float = 60.0) -> None:
        self._answers: dict[str, Any] = {}
        self._ask: Ask | None = None
        self._known = asyncio.Event()
        self._patience = patience
        if answers is not None:
            self.learn(answers)

    def learn(self, answers: Mapping[str, Any], ask: Ask | None = None) -> None:
        """Take the gold answers (keys are example indices in text) and the way to ask."""
        self._answers = dict(answers)
        self._ask = ask
        self._known.set()

    async def answer(self, question: OracleQuestion) -> Message:
        """The oracle's turn; raises OracleFailed when there is none."""
        try:
            async with asyncio.timeout(self._patience):
                await self._known.wait()
        except TimeoutError:
            raise OracleFailed("The gold answers did not arrive from the worker") from None
        if self._ask is not None:
            try:
                async with asyncio.timeout(_LONGEST_THOUGHT_S):
                    said = await self._ask(question)
            except TimeoutError:
                raise OracleFailed("The environment's oracle did not answer") from None
            except PrimeError as error:
                raise OracleFailed(error.message) from error
            if said is not None:
                return said
        gold = self._answers.get(str(question.example))
        if gold is None:
            raise OracleFailed(
                f"Example {question.example} has no gold answer; "
                "give the environment a function `oracle(messages, *, answer, info)`"
            )
        return gold if isinstance(gold, str | Mapping) else str(gold)
