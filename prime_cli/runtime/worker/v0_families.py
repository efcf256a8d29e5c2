"""How releases of verifiers run v0 environments: one adapter for each family.

A: up to 0.1.5, `a_generate` takes columns, and answers with columns. B: 0.1.6 to 0.1.9, `generate`
is asynchronous; its input changes shape at 0.1.8. C: 0.1.10 to 0.3.1, `run_group` of rows, with one
output for each.
"""

import copy
import inspect
import itertools
import json
from typing import Any

from .client import wrapped_for_verifiers
from .rows import Row
from .spec import WorkerSpec
from .v0_watch import current_unit


class FamilyA:
    """Rollouts of an environment with a synchronous `generate`, beside an `a_generate`."""

    name = "A"

    def __init__(self, environment: Any, spec: WorkerSpec, client: Any) -> None:
        self._environment = environment
        self._spec = spec
        self._client = client

    @classmethod
    def fits(cls, environment: Any) -> bool:
        return hasattr(environment, "a_generate") and not inspect.iscoroutinefunction(
            environment.generate
        )

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        """Run and score `count` rollouts of `row`; a list of outcomes."""
        result = await self._environment.a_generate(
            columns(row, example, count),
            client=self._client,
            model=self._spec.model,
            sampling_args=dict(self._spec.sampling),
        )
        return [outcome(result, position) for position in range(count)]


def columns(row: Row, example: int, count: int) -> dict[str, list[Any]]:
    """An example as the columns of `count` equal rows."""
    shared = {
        "prompt": row.get("prompt"),
        "answer": "" if row.get("answer") is None else row["answer"],
        "task": row.get("task") or "default",
        "example_id": row.get("example_id", row.get("id", example)),
    }
    table = {name: [value] * count for name, value in shared.items()}
    # Separate copies: rollouts write into theirs.
    table["info"] = [_info(row.get("info")) for _ in range(count)]
    return table


def outcome(result: Any, position: int) -> Row:
    """One rollout out of a result's columns; results are models or, from 0.1.8 on, dicts."""

    def column(name: str) -> Any:
        return result[name] if isinstance(result, dict) else getattr(result, name)

    # Columns of metrics are short if a rollout lacks a metric.
    metrics = {
        name: values[position]
        for name, values in (column("metrics") or {}).items()
        if position < len(values)
    }
    return {
        "prompt": column("prompt")[position],
        "completion": column("completion")[position],
        "reward": column("reward")[position],
        "metrics": metrics,
    }


def _info(info: Any) -> dict[str, Any]:
    if isinstance(info, str):
        info = json.loads(info)
    return copy.deepcopy(dict(info)) if info else {}


class FamilyBEarly:
    """0.1.6 and 0.1.7: columns in, columns out."""

    name = "B"

    def __init__(self, environment: Any, spec: WorkerSpec, client: Any) -> None:
        self._environment = environment
        self._spec = spec
        self._client = client

    @classmethod
    def fits(cls, environment: Any) -> bool:
        return inspect.iscoroutinefunction(environment.generate)

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        """Run and score `count` rollouts of `row`; a list of outcomes."""
        result = await self._generate(columns(row, example, count))
        return [outcome(result, position) for position in range(count)]

    async def _generate(self, inputs: Any) -> Any:
        return await self._environment.generate(
            inputs,
            client=self._client,
            model=self._spec.model,
            sampling_args=dict(self._spec.sampling),
            use_tqdm=False,
        )


class FamilyB(FamilyBEarly):
    """0.1.8 and 0.1.9: a list of rows in, columns out; the rows of one example are a group."""

    @classmethod
    def fits(cls, environment: Any) -> bool:
        early = super().fits(environment)
        return early and "input" in inspect.signature(environment.rollout).parameters

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        own = {"example_id": example, "task": "default", "answer": "", "info": {}}
        own.update({name: value for name, value in row.items() if value is not None})
        result = await self._generate([copy.deepcopy(own) for _ in range(count)])
        return [outcome(result, position) for position in range(count)]


class FamilyC:
    """Rollouts by `run_group`, even a single one: it also scores rubrics without functions."""

    name = "C"

    def __init__(self, environment: Any, spec: WorkerSpec, client: Any) -> None:
        self._environment = environment
        self._model = spec.model
        self._client = wrapped_for_verifiers(client, environment, spec)
        self._sampling = copy.deepcopy(dict(getattr(environment, "sampling_args", None) or {}))
        self._sampling.update(spec.sampling)

    @classmethod
    def fits(cls, environment: Any) -> bool:
        run_group = getattr(environment, "run_group", None)
        return run_group is not None and "max_retries" in inspect.signature(run_group).parameters

    async def run(self, row: Row, example: int, count: int) -> list[Row]:
        """Run and score `count` rollouts of `row`; a list of outcomes."""
        inputs = [{"example_id": example, **copy.deepcopy(row)} for _ in range(count)]
        outputs = await self._environment.run_group(
            inputs, self._client, self._model, copy.deepcopy(self._sampling)
        )
        unit = current_unit.get()
        states = unit.states if unit is not None else [None] * count
        return [_outcome(*each) for each in zip(outputs, states, strict=True)]


def _outcome(output: Any, state: Any) -> Row:
    """A rollout's output, which verifiers writes its metrics into, by their names.

    A field that a metric is named like is read from the state instead, which keeps them apart.
    """
    metrics = (state or {}).get("metrics") or {}

    def field(name: str) -> Any:
        return state.get(name) if name in metrics else output.get(name)

    found = {name: field(name) for name in ("prompt", "completion", "reward")}
    found["metrics"] = metrics if state else output.get("metrics")
    tokens = field("token_usage")
    if isinstance(tokens, dict):
        found["usage"] = {
            "input": int(tokens.get("input_tokens") or 0),
            "output": int(tokens.get("output_tokens") or 0),
        }
    return found


# --- Rubrics, and token counts in states ---

PLURALS = {"states", "prompts", "completions", "answers", "tasks", "infos"}
BASES = {"Rubric", "RubricGroup", "EnvGroupRubric", "JudgeRubric", "MathRubric", "ToolRubric"}


def scores_groups(environment: Any) -> bool:
    """True where a reward depends on the other rollouts of the same example.

    Derived from what verifiers itself reports (0.1.13 and later), from reward functions with plural
    parameters (0.1.8 and later), and from rubrics that override the scoring of groups.
    """
    if getattr(environment, "requires_group_rollouts", False):
        return True
    return any(_is_group_rubric(rubric) for rubric in rubrics_of(environment))


def rubrics_of(environment: Any) -> list[Any]:
    """Every rubric of an environment, including those in groups of rubrics and of environments."""
    waiting = outer_rubrics(environment)
    found: list[Any] = []
    while waiting:
        rubric = waiting.pop()
        if rubric is None or any(rubric is known for known in found):
            continue
        found.append(rubric)
        waiting.extend(getattr(rubric, "rubrics", None) or [])
    return found


def members_of(environment: Any) -> list[Any]:
    """An environment, and those of the groups that it is made of."""
    inner = [members_of(one) for one in getattr(environment, "envs", None) or []]
    return [environment, *itertools.chain(*inner)]


def outer_rubrics(environment: Any) -> list[Any]:
    """The rubrics that an environment itself calls: its own, and those of a group's members."""
    found = [getattr(one, "rubric", None) for one in members_of(environment)]
    return [rubric for rubric in found if rubric is not None]


def reward_weights(environment: Any) -> dict[str, float]:
    """{name of a reward function: its weight}, over all rubrics."""
    weights = {}
    for rubric in rubrics_of(environment):
        functions, values = _functions(rubric), _weights(rubric)
        for function, weight in zip(functions, values, strict=False):
            weights[getattr(function, "__name__", repr(function))] = weight
    return weights


def reward_functions(environment: Any) -> list[Any]:
    """The reward functions of all rubrics."""
    return [function for rubric in rubrics_of(environment) for function in _functions(rubric)]


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
    """{"input", "output"} summed over the model's answers, or None if none reported them."""
    counts = [c for c in map(_tokens, responses_of(state)) if c is not None]
    if not counts:
        return None
    return {"input": sum(c[0] for c in counts), "output": sum(c[1] for c in counts)}


def was_truncated(state: Any) -> bool:
    """Whether a limit cut an answer short: per verifiers from 0.1.9 on, else per the answers."""
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
    prompt_tokens = getattr(usage, "prompt_tokens", None)
    completion_tokens = getattr(usage, "completion_tokens", None)
    return (
        None
        if prompt_tokens is None and completion_tokens is None
        else (prompt_tokens or 0, completion_tokens or 0)
    )


def _finish_reason(response: Any) -> str | None:
    choices = getattr(response, "choices", None)
    return getattr(choices[0], "finish_reason", None) if choices else None
