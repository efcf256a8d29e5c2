"""A model endpoint that makes trouble: each kind that endpoints are known for, at a rate.

    with ScriptedModel(Hostile(seed, kinds=(RESET,), rate=0.2)) as model: ...

Which call meets what is drawn from the seed. What is said between is what a calm endpoint says.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping

from tests.helpers.scripted_model import (
    BAD_JSON,
    HANG,
    HANG_UP,
    Received,
    Reply,
    echo,
    status,
)

RATE_LIMIT, PATIENT_RATE_LIMIT = "429", "429 with Retry-After"
SERVER_ERROR, OVERLOADED, RESET = "500", "529", "reset"
HALF_ANSWER, HANGS, INVALID_JSON, NO_CHOICES = "half answer", "hang", "invalid JSON", "no choices"

TROUBLE: Mapping[str, Reply] = {
    RATE_LIMIT: status(429),
    PATIENT_RATE_LIMIT: status(429, retry_after=0.05),
    SERVER_ERROR: status(500),
    OVERLOADED: status(529),
    RESET: HANG_UP,
    HALF_ANSWER: Reply(raw=b'{"choices": [{"index": 0, "mess', cut=True),
    HANGS: HANG,
    INVALID_JSON: BAD_JSON,
    NO_CHOICES: Reply(raw=b'{"choices": []}'),
}


class Hostile:
    """An answer for ScriptedModel; `met` counts what it did."""

    def __init__(
        self,
        seed: int,
        kinds: tuple[str, ...] = tuple(TROUBLE),
        *,
        rate: float = 0.2,
        calm: Callable[[Received], Reply] = echo,
    ) -> None:
        self.met: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._kinds = kinds
        self._rate = rate
        self._calm = calm

    def __call__(self, request: Received) -> Reply:
        if self._random.random() >= self._rate:
            self.met["calm"] += 1
            return self._calm(request)
        kind = self._random.choice(self._kinds)
        self.met[kind] += 1
        return TROUBLE[kind]
