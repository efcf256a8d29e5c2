"""As much of verifiers v0 as a worker touches, so that tests of the worker start in no time.

It has the seams of 0.1.14: `load_environment`, `get_eval_dataset`, `rollout`, `run_group`, a rubric
that logs and swallows what its functions raise. The real releases have tests of their own.
"""

import asyncio
import importlib
import logging

log = logging.getLogger("verifiers.rubrics")


def load_environment(env_id, **args):
    module = importlib.import_module(env_id.replace("-", "_"))
    try:
        return module.load_environment(**args)
    except Exception as error:
        raise RuntimeError(f"Failed to load environment {env_id}") from error


class Rubric:
    def __init__(self, funcs=(), weights=None):
        self.funcs = list(funcs)
        self.weights = weights or [1.0] * len(self.funcs)

    async def score_rollout(self, state):
        state["metrics"] = {f.__name__: await self._call(f, state) for f in self.funcs}
        values = state["metrics"].values()
        state["reward"] = sum(v * w for v, w in zip(values, self.weights, strict=True))

    async def _call(self, function, state):
        try:
            score = function(state)
            return float(await score if asyncio.iscoroutine(score) else score)
        except Exception as error:  # noqa: BLE001 - as verifiers does
            log.error(f"Error calling reward function {function.__name__}: {error}")  # noqa: G004, TRY400
            return 0.0


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
        for state in states:
            await self.rubric.score_rollout(state)
        return states
