"""A search for an answer that is paid: small changes of the best strategies, a few at a time."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prime_cli.core.formatting import join_words
from prime_cli.evals.env_check.attack.strategies import (
    HOLLOW,
    JUDGED,
    STRATEGIES,
    Corpus,
    Line,
    Target,
    alike,
    wrong_answer,
)
from prime_cli.models.gateway.oracle import FORMS, OracleProbe

Change = Callable[[str, Target, Corpus], str]

CHANGES: Mapping[str, Change] = {
    "in tags": lambda text, *_: FORMS[OracleProbe.TAGGED](text),
    "boxed": lambda text, *_: FORMS[OracleProbe.BOXED](text),
    "thought first": lambda text, *_: FORMS[OracleProbe.THOUGHT](text),
    "as a sentence": lambda text, *_: f"The answer is {text}.",
    "after ####": lambda text, *_: f"Step by step.\n#### {text}",
    "as JSON": lambda text, *_: f'{{"answer": "{text}"}}',
    "in a code block": lambda text, *_: f"```\n{text}\n```",
    "three times": lambda text, *_: "\n".join([text] * 3),
    "in capitals": lambda text, *_: text.upper(),
    "after hollow tags": lambda text, *_: f"{HOLLOW}\n{text}",
    "with a note to the grader": lambda text, *_: f"{text}\n\n{JUDGED}",
    "after the question": lambda text, target, _: f"{target.asked}\n\n{text}",
    "with a wrong answer": lambda text, target, corpus: f"{text}\n{wrong_answer(target, corpus)}",
    "its first line": lambda text, *_: (text.splitlines() or [""])[0],
}

_BEST = 3
_LONGEST = 40_000
_TRIES = 50


@dataclass(frozen=True)
class Candidate:
    """The answers of a strategy with some changes, in order."""

    strategy: str
    changes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return join_words([self.strategy, *self.changes])

    def say(self, target: Target, corpus: Corpus, targets: Sequence[Target]) -> str | None:
        """The answer to an example; None if it would be right, or there is none."""
        strategy = next(each for each in STRATEGIES if each.name == self.strategy)
        text = strategy.make(target, corpus, targets)
        if not isinstance(text, str):
            return None
        for name in self.changes:
            text = CHANGES[name](text, target, corpus)
        may_hold = self.strategy in ("every-option", "echo") or "after the question" in self.changes
        if not may_hold and alike(text, target.known):
            return None
        return text[:_LONGEST]


class Hunt:
    """Proposes changes of the best candidates so far, by a seed, and learns what each was paid."""

    def __init__(
        self, tried: Sequence[tuple[str, Mapping[int, Line], float]], seed: int = 0
    ) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - no secret
        self._paid: dict[Candidate, float] = {
            Candidate(name): share
            for name, lines, share in tried
            if lines and all(isinstance(line, str) for line in lines.values())
        }

    @property
    def best(self) -> Candidate | None:
        """The best paid one; of equals the one with the fewest changes."""
        return next(iter(self._ranked()), None)

    def propose(self) -> Candidate | None:
        """A candidate that was not tried; None if there is none within reach."""
        ranked = self._ranked()[:_BEST]
        for _ in range(_TRIES if ranked else 0):
            parent = self._rng.choice(ranked)
            change = self._rng.choice(sorted(CHANGES))
            child = Candidate(parent.strategy, (*parent.changes, change))
            if child not in self._paid:
                return child
        return None

    def learn(self, candidate: Candidate, share: float) -> None:
        """Take note of the mean share of the gold answers' reward that a candidate was paid."""
        self._paid[candidate] = share

    def _ranked(self) -> list[Candidate]:
        return sorted(self._paid, key=lambda each: (-self._paid[each], len(each.changes)))
