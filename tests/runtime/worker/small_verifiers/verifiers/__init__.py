"""As much of verifiers v0 as a worker touches, so that tests of the worker start in no time.

It has the seams of 0.1.14: `load_environment`, `get_eval_dataset`, `rollout`, `run_group`, a rubric
that logs and swallows what its functions raise. The real releases have tests of their own.
"""

import asyncio
import importlib
import inspect
import logging

_NAMES = ("prompt", "completion", "answer", "info", "state")
log = logging.getLogger("verifiers.rubrics")


def load_environment(env_id, **args):
    module = importlib.import_module(env_id.replace("-", "_"))
    try:
        return module.load_environment(**args)
    except Exception as error:
        raise RuntimeError(f"Failed to load environment {env_id}") from error


class Rubric:
    # As in the releases: whose scoring of groups is inherited does not score groups.
    __module__ = "verifiers.rubrics.rubric"

    def __init__(self, funcs=(), weights=None):
        self.funcs = list(funcs)
        self.weights = weights or [1.0] * len(self.funcs)

    async def score_group(self, states):
        for state in states:
            state["metrics"] = {}
        for function in self.funcs:
            if "completions" in inspect.signature(function).parameters:
                columns = {f"{name}s": [each.get(name) for each in states] for name in _NAMES}
                scores = await self._call(function, columns, "group reward function")
                scores = [0.0] * len(states) if scores is None else scores
            else:
                each = [{"state": state, **state} for state in states]
                scores = [await self._call(function, one, "reward function") for one in each]
            for state, score in zip(states, scores, strict=True):
                state["metrics"][function.__name__] = float(score or 0.0)
        for state in states:
            values = state["metrics"].values()
            state["reward"] = sum(v * w for v, w in zip(values, self.weights, strict=True))

    async def _call(self, function, known, kind):
        """What `function` returns for the parameters it names; None where it raises."""
        names = inspect.signature(function).parameters
        try:
            found = function(**{name: known[name] for name in names if name in known})
            return await found if asyncio.iscoroutine(found) else found
        except Exception as error:  # noqa: BLE001 - as verifiers does
            log.error(f"Error calling {kind} {function.__name__}: {error}")  # noqa: G004, TRY400
            return None


class Environment:
    requires_group_rollouts = False

    def __init__(self, rows, rubric):
        self.rows = rows
        self.rubric = rubric
        self.sampling_args = {}

    def get_eval_dataset(self, n=-1, seed=None):
        return self.rows if n < 0 else self.rows[:n]

    async def rollout(self, input, client, model, sampling_args):  # noqa: A002
        state = {**input, "trajectory": []}
        answer = await client.chat.completions.create(
            model=model, messages=input["prompt"], **sampling_args
        )
        state["trajectory"].append({"response": answer})
        state["completion"] = [answer.choices[0].message]
        return state

    async def run_group(
        self, group_inputs, client, model, sampling_args, max_retries=0, state_columns=None
    ):
        rollouts = [self.rollout(i, client, model, sampling_args) for i in group_inputs]
        states = await asyncio.gather(*rollouts)
        await self.rubric.score_group(states)
        # As 0.1.10 and later do, over whatever has the name of a metric.
        return [{**state, **state["metrics"]} for state in states]


class SingleTurnEnv(Environment):
    """Questions and answers; what the model says is a dict, as in verifiers."""

    def __init__(self, eval_dataset, rubric):
        rows = [
            {"prompt": [{"role": "user", "content": row["question"]}], "info": {}, **row}
            for row in eval_dataset
        ]
        super().__init__(rows, rubric)

    async def rollout(self, input, client, model, sampling_args):  # noqa: A002
        state = await super().rollout(input, client, model, sampling_args)
        said = state["completion"][0]
        state["completion"] = [{"role": "assistant", "content": said.content}]
        return state
