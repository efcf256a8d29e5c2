"""Whether an environment scores rollouts one by one or by the group of an example."""

import inspect

PLURALS = {"states", "prompts", "completions", "answers", "tasks", "infos"}
BASES = {"Rubric", "RubricGroup", "EnvGroupRubric", "JudgeRubric", "MathRubric", "ToolRubric"}


def scores_groups(environment):
    """True where a reward depends on the other rollouts of the same example.

    Told from what verifiers says itself (0.1.13 and later), from reward functions with plural
    parameters (0.1.8 and later), and from rubrics that override the scoring of groups.
    """
    if getattr(environment, "requires_group_rollouts", False):
        return True
    return any(_is_group_rubric(rubric) for rubric in rubrics_of(environment))


def rubrics_of(environment):
    """Every rubric of an environment: in groups of rubrics and groups of environments too."""
    waiting = [getattr(environment, "rubric", None)]
    waiting += [getattr(env, "rubric", None) for env in getattr(environment, "envs", None) or []]
    found = []
    while waiting:
        rubric = waiting.pop()
        if rubric is None or any(rubric is known for known in found):
            continue
        found.append(rubric)
        waiting.extend(getattr(rubric, "rubrics", None) or [])
    return found


def reward_weights(environment):
    """{name of a reward function: its weight}, over all rubrics."""
    weights = {}
    for rubric in rubrics_of(environment):
        functions, values = _functions(rubric), _weights(rubric)
        for function, weight in zip(functions, values, strict=False):
            weights[getattr(function, "__name__", repr(function))] = weight
    return weights


def _functions(rubric):
    return getattr(rubric, "funcs", None) or getattr(rubric, "reward_funcs", None) or []


def _weights(rubric):
    return getattr(rubric, "weights", None) or getattr(rubric, "reward_weights", None) or []


def _is_group_rubric(rubric):
    return _overrides_group_scoring(rubric) or any(map(_is_group_function, _functions(rubric)))


def _overrides_group_scoring(rubric):
    for cls in type(rubric).__mro__:
        if cls.__name__ in BASES and cls.__module__.startswith("verifiers."):
            return False
        if {"score_group", "score_rollouts"} & set(vars(cls)):
            return True
    return False


def _is_group_function(function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return bool(PLURALS & set(signature.parameters))
