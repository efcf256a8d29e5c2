"""`builtin/probes`: the model of `prime env check`, which answers each rollout in another way.

What it says depends on nothing but the rollout's number and the conversation, so that two runs
get the same answers.
"""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import IntEnum

from prime_cli.models.gateway.calls import CallFailed, CallIdentity
from prime_cli.models.gateway.oracle import Message

PROBES = "builtin/probes"
"""Not among the models that a user can name."""

MOST_TURNS = 100
"""A conversation that goes on after this many answers is taken for one without an end."""

ENDLESS = "conversation_does_not_end"
"""The code of the refusal that ends such a conversation."""

_LONGEST_ECHO = 20_000
_GARBLED_WORDS = 12
_SYLLABLES = "blorf dwix frunt gleep kworn plimf quazz skrib thrup vlent wumph zyggo".split()


class Probe(IntEnum):
    """The number of a rollout, and what is said in it.

    TAGGED and BOXED say the gold answer in the two forms that parsers ask for; BLANK is for
    environments whose verifiers refuses an EMPTY answer before it is scored.
    """

    GOLD = 0
    TAGGED = 1
    BOXED = 2
    EMPTY = 3
    BLANK = 4
    ECHO = 5
    GARBAGE = 6


GOLDEN = (Probe.GOLD, Probe.TAGGED, Probe.BOXED)
"""The forms of a gold answer."""


class Probes:
    """Answers by the rollout that a call is made for."""

    def __init__(self) -> None:
        self._turns: Counter[CallIdentity] = Counter()

    async def answer(
        self, identity: CallIdentity, gold: Callable[[], Awaitable[Message]], asked: str
    ) -> Message:
        """What is said next; `asked` is the newest user message, `gold` tells the gold answer.

        Raises CallFailed for a call of no rollout, and when the conversation has no end.
        """
        if identity.example is None or identity.rollout not in set(Probe):
            raise _refusal(f"`{PROBES}` answers the rollouts of a check only", 400, "builtin_model")
        self._turns[identity] += 1
        if self._turns[identity] > MOST_TURNS:
            words = f"The conversation did not end within {MOST_TURNS} answers ({ENDLESS})"
            raise _refusal(words, 422, ENDLESS)
        probe = Probe(identity.rollout)
        if probe in GOLDEN:
            return _formed(probe, await gold())
        if probe is Probe.ECHO:
            return asked[:_LONGEST_ECHO]
        if probe is Probe.GARBAGE:
            return garbage(identity.example, self._turns[identity])
        return "" if probe is Probe.EMPTY else " \n"


def garbage(example: int, turn: int) -> str:
    """Words that mean nothing: no number, no letter alone, no tag; the same for the same turn."""
    digest = hashlib.sha256(f"{example}.{turn}".encode()).digest()
    words = (_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest[:_GARBLED_WORDS])
    return " ".join(words)


def _formed(probe: Probe, gold: Message) -> Message:
    if not isinstance(gold, str) or probe is Probe.GOLD:
        return gold
    return f"<answer>{gold}</answer>" if probe is Probe.TAGGED else f"\\boxed{{{gold}}}"


def _refusal(message: str, status: int, code: str) -> CallFailed:
    return CallFailed(message, status=status, blame="environment", code=code)
