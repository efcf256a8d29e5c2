"""The order of evaluations of one version of an environment: by the evidence for their means."""

BUILT_IN = "builtin/"
"""How the names of models begin that answer from gold answers, a recording or the prompt."""

SMOLLM2 = f"{BUILT_IN}smollm2"
"""A real model, which a server on this machine answers for as long as a run takes."""

RANKED, UNCERTAIN, BASELINE, UNSCORED = range(4)
"""The first part of a key: only what is RANKED has a place."""


def is_baseline(model: str | None) -> bool:
    """Whether `model` is built in and no real one: its score tells of the environment alone."""
    return (model or "").startswith(BUILT_IN) and model != SMOLLM2


def rank_key(
    model: str | None, mean: float | None, interval: tuple[float, float] | None
) -> tuple[int, float, float]:
    """A key that sorts the best first, by the lower end of the interval.

    So 3 examples at 1.0 come after 1,000 at 0.95. Whatever has no interval comes after all that
    has one, then baselines, then what has no mean.
    """
    if mean is None:
        return UNSCORED, 0.0, 0.0
    if is_baseline(model):
        return BASELINE, -mean, 0.0
    return (UNCERTAIN, -mean, 0.0) if interval is None else (RANKED, -interval[0], -mean)
