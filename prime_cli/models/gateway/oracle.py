"""Models that know the gold answers: `builtin/oracle`, and `builtin/probes` of `prime env check`.

The oracle gives the gold answer, or asks the environment's own oracle. Probes answer each rollout
differently, depending only on its number and the conversation, so that two runs get the same
answers.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from prime_cli.core.builtin_models import PROBES
from prime_cli.core.errors import PrimeError
from prime_cli.models.gateway.calls import CallFailed, CallIdentity

_LONGEST_THOUGHT_S = 600.0

Message = str | Mapping[str, Any]
"""An assistant's turn: its text, or a message that may hold `tool_calls`."""


@dataclass(frozen=True)
class OracleQuestion:
    """One turn requested from the environment's own oracle."""

    example: int
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


Script = Callable[[CallIdentity, OracleQuestion], Awaitable[Message]]
"""What `builtin/probes` says in place of its probes; raises CallFailed."""


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
        """Set the gold answers (keys are example indices as text) and the way to ask."""
        self._answers = dict(answers)
        self._ask = ask
        self._known.set()

    async def answer(self, question: OracleQuestion) -> Message:
        """The oracle's turn; raises OracleFailed if there is none."""
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
                "define a function `oracle(messages, *, answer, info)`"
            )
        return gold if isinstance(gold, str | Mapping) else str(gold)


MOST_TURNS = 100
"""A conversation with more answers is assumed to be endless."""

ENDLESS = "conversation_does_not_end"
"""The code of the refusal that ends such a conversation."""

_LONGEST_ECHO = 20_000
_GARBLED_WORDS = 12
_VERDICTS = ("yes", "no", "1", "0", "A", "B", "CORRECT", "INCORRECT")
_SYLLABLES = "blorf dwix frunt gleep kworn plimf quazz skrib thrup vlent wumph zyggo".split()


class OracleProbe(IntEnum):
    """A rollout's number, and what is said in it.

    TAGGED and BOXED give the gold answer in the two forms that parsers expect; BLANK is for
    environments whose verifiers reject an EMPTY answer before scoring. Those after GARBAGE only
    compare two forms of an environment.
    """

    GOLD = 0
    TAGGED = 1
    BOXED = 2
    EMPTY = 3
    BLANK = 4
    ECHO = 5
    GARBAGE = 6
    THOUGHT = 7
    THOUGHT_TAGGED = 8
    THOUGHT_BOXED = 9
    SENTENCE = 10
    HALF = 11


GOLDEN = (OracleProbe.GOLD, OracleProbe.TAGGED, OracleProbe.BOXED)
"""The forms of a gold answer."""

CHECKED = tuple(OracleProbe)[: OracleProbe.GARBAGE + 1]
"""The probes of a check."""

_THOUGHT = "<think>\nLet me see.\n</think>\n\n"
FORMS: Mapping[OracleProbe, Callable[[str], str]] = {
    OracleProbe.GOLD: str,
    OracleProbe.TAGGED: "<answer>{}</answer>".format,
    OracleProbe.BOXED: "\\boxed{{{}}}".format,
    OracleProbe.THOUGHT: f"{_THOUGHT}{{}}".format,
    OracleProbe.THOUGHT_TAGGED: f"{_THOUGHT}<answer>\n{{}}\n</answer>".format,
    OracleProbe.THOUGHT_BOXED: f"{_THOUGHT}It is \\boxed{{{{{{}}}}}}.".format,
    OracleProbe.SENTENCE: "The answer is {}.".format,
    OracleProbe.HALF: lambda gold: gold[: (len(gold) + 1) // 2],
}
"""What the probes that are given the gold answer make of it."""


class Probes:
    """Answers by the rollout that makes the call."""

    def __init__(self) -> None:
        self._turns: Counter[CallIdentity] = Counter()

    async def answer(
        self, identity: CallIdentity, gold: Callable[[], Awaitable[Message]], asked: str
    ) -> Message:
        """The next answer; `asked` is the newest user message, `gold` returns the gold answer.

        Raises CallFailed for a call outside any rollout, and for an endless conversation.
        """
        if identity.example is None or identity.rollout not in set(OracleProbe):
            raise _refusal(f"`{PROBES}` only answers rollouts of a check", 400, "builtin_model")
        self._turns[identity] += 1
        require_end(self._turns[identity])
        probe = OracleProbe(identity.rollout)
        if probe in FORMS:
            said = await gold()
            return FORMS[probe](said) if isinstance(said, str) else said
        if probe is OracleProbe.ECHO:
            return asked[:_LONGEST_ECHO]
        if probe is OracleProbe.GARBAGE:
            return garbage(identity.example, self._turns[identity])
        return "" if probe is OracleProbe.EMPTY else " \n"


def verdict(asked: str) -> str:
    """A judge's answer that depends on the question alone; it judges nothing."""
    return _VERDICTS[hashlib.sha256(asked.encode()).digest()[0] % len(_VERDICTS)]


def require_end(turns: int) -> None:
    """Raise CallFailed for a conversation of more than MOST_TURNS."""
    if turns > MOST_TURNS:
        words = f"The conversation did not end within {MOST_TURNS} answers ({ENDLESS})"
        raise _refusal(words, 422, ENDLESS)


def garbage(example: int, turn: int) -> str:
    """Meaningless words: no number, no single letter, no tag; the same for the same turn."""
    digest = hashlib.sha256(f"{example}.{turn}".encode()).digest()
    words = (_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[:_GARBLED_WORDS])
    return " ".join(words)


def _refusal(message: str, status: int, code: str) -> CallFailed:
    return CallFailed(message, status=status, blame="environment", code=code)
