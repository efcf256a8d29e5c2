"""The models that come with prime, by name."""

BUILT_IN = "builtin/"
"""How the names of these models begin."""

ECHO = f"{BUILT_IN}echo"
"""Repeats the prompt."""

ORACLE = f"{BUILT_IN}oracle"
"""Answers with the gold answer of each example."""

PROBES = f"{BUILT_IN}probes"
"""Answers as the probes of `prime env check` ask for; nobody names it."""

VERDICTS = f"{BUILT_IN}verdicts"
"""Stands in for judges while two forms of an environment are compared; nobody names it."""

REPLAY = f"{BUILT_IN}replay:"
"""Prefix of the model that replays the run whose id follows."""

SMOLLM2 = f"{BUILT_IN}smollm2"
"""A real model, which a server on this machine answers for as long as a run takes."""

TINY = f"{BUILT_IN}tiny"
"""Random weights for trying out a training."""


ABOUT = {
    ECHO: "repeats the prompt",
    ORACLE: "gives the right answers",
    SMOLLM2: "a small real model",
    TINY: "random weights",
}
"""What newcomers should know of them, in a few words."""


def is_baseline(model: str | None) -> bool:
    """Whether `model` is built in and no real one: its score tells of the environment alone."""
    return (model or "").startswith(BUILT_IN) and model != SMOLLM2
