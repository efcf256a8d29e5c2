"""What v0 environments keep: how their rubrics score, and what their states say of tokens."""

import inspect
from typing import Any

PLURALS = {"states", "prompts", "completions", "answers", "tasks", "infos"}
BASES = {"Rubric", "RubricGroup", "EnvGroupRubric", "JudgeRubric", "MathRubric", "ToolRubric"}


def scores_groups(environment: Any) -> bool:
    """True where a reward depends on the other rollouts of the same example.

    Told from what verifiers says itself (0.1.13 and later), from reward functions with plural
    parameters (0.1.8 and later), and from rubrics that override the scoring of groups.
    """
    if getattr(environment, "requires_group_rollouts", False):
        return True
    return any(_is_group_rubric(rubric) for rubric in rubrics_of(environment))


def rubrics_of(environment: Any) -> list[Any]:
    """Every rubric of an environment: in groups of rubrics and groups of environments too."""
    waiting = outer_rubrics(environment)
    found: list[Any] = []
    while waiting:
        rubric = waiting.pop()
        if rubric is None or any(rubric is known for known in found):
            continue
        found.append(rubric)
        waiting.extend(getattr(rubric, "rubrics", None) or [])
    return found


def outer_rubrics(environment: Any) -> list[Any]:
    """The rubrics that an environment itself calls: its own, and those of a group's members."""
    environments = [environment, *(getattr(environment, "envs", None) or [])]
    found = [getattr(one, "rubric", None) for one in environments]
    return [rubric for rubric in found if rubric is not None]


def reward_weights(environment: Any) -> dict[str, float]:
    """{name of a reward function: its weight}, over all rubrics."""
    weights = {}
    for rubric in rubrics_of(environment):
        functions, values = _functions(rubric), _weights(rubric)
        for function, weight in zip(functions, values, strict=False):
            weights[getattr(function, "__name__", repr(function))] = weight
    return weights


def _functions(rubric: Any) -> list[Any]:
    return getattr(rubric, "funcs", None) or getattr(rubric, "reward_funcs", None) or []


def _weights(rubric: Any) -> list[float]:
    return getattr(rubric, "weights", None) or getattr(rubric, "reward_weights", None) or []


def _is_group_rubric(rubric: Any) -> bool:
    return _overrides_group_scoring(rubric) or any(map(_is_group_function, _functions(rubric)))


def _overrides_group_scoring(rubric: Any) -> bool:
    for cls in type(rubric).__mro__:
        if cls.__name__ in BASES and cls.__module__.startswith("verifiers."):
            return False
        if {"score_group", "score_rollouts"} & set(vars(cls)):
            return True
    return False


def _is_group_function(function: Any) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return bool(PLURALS & set(signature.parameters))


def usage_of(state: Any) -> dict[str, int] | None:
    """{"input", "output"} summed over the answers of the model, or None where none counted."""
    counts = [c for c in map(_tokens, responses_of(state)) if c is not None]
    if not counts:
        return None
    return {"input": sum(c[0] for c in counts), "output": sum(c[1] for c in counts)}


def was_truncated(state: Any) -> bool:
    """Whether a limit cut an answer short: verifiers says so from 0.1.9 on, else the answers."""
    if state.get("is_truncated") is not None:
        return bool(state["is_truncated"])
    return any(_finish_reason(response) == "length" for response in responses_of(state))


def responses_of(state: Any) -> list[Any]:
    """The model's answers: kept in `responses` up to 0.1.7, in the trajectory later."""
    steps = state.get("trajectory")
    if steps:
        return [step.get("response") for step in steps if step.get("response") is not None]
    return list(state.get("responses") or [])


def _tokens(response: Any) -> tuple[int, int] | None:
    usage = getattr(response, "usage", None)
    asked = getattr(usage, "prompt_tokens", None)
    said = getattr(usage, "completion_tokens", None)
    return None if asked is None and said is None else (asked or 0, said or 0)


def _finish_reason(response: Any) -> str | None:
    choices = getattr(response, "choices", None)
    return getattr(choices[0], "finish_reason", None) if choices else None
