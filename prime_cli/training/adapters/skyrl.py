"""SkyRL: rollouts of `prime rollouts serve` as a generator. Tried with skyrl 0.4.0.

    python -m prime_adapters.skyrl data/         # writes train.parquet
    python -m prime_adapters.skyrl \\
        data.train_data='["data/train.parquet"]' data.val_data='[]' trainer.eval_interval=-1 …

With `generator.step_wise_trajectories=true` each segment of a rollout is a row. Otherwise SkyRL
takes one row for each rollout: of several segments one is drawn, each with the same chance.
"""

import asyncio
import itertools
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skyrl.train.generators.base import (
    GeneratorInput,
    GeneratorInterface,
    GeneratorOutput,
    TrajectoryID,
)
from skyrl.train.generators.utils import get_rollout_metrics

from .continuation import Conversations
from .service import (
    JSON,
    PolicyServer,
    RefusedError,
    RolloutService,
    Row,
    Sampled,
    length_of,
    row_of,
)

TRIES = 3
"""How often rollouts that ended in an error are asked for: SkyRL has no row without a reward."""


class PrimeGenerator(GeneratorInterface):  # type: ignore[misc]
    """Rollouts of the service, whose environment calls SkyRL's inference engines."""

    def __init__(
        self, config: Any, engines: Any, tokenizer: Any, service: RolloutService | None = None
    ) -> None:
        self._config = config
        self._engines = engines
        self._tokenizer = tokenizer
        self._service = service or RolloutService()
        self._policies = PolicyServer()
        self._by_group = self._service.environment()["unit"] == "group"

    async def generate(self, input_batch: GeneratorInput) -> GeneratorOutput:
        """The rows of a batch: rollouts of the same trajectory id are one group."""
        sampling = dict(input_batch.get("sampling_params") or {})
        policy = _Policy(self._engines, self._tokenizer, self._config, sampling)
        extras, names = input_batch["env_extras"], input_batch["trajectory_ids"]
        groups = [
            list(members)
            for _, members in itertools.groupby(
                zip(names, extras, strict=True), key=lambda each: each[0].instance_id
            )
        ]
        with self._policies.serving(policy) as where:
            asked = [
                self._rollouts(int(group[0][1]["example"]), len(group), where) for group in groups
            ]
            found = await asyncio.gather(*asked)
        named = [
            (name, rollout)
            for group, rollouts in zip(groups, found, strict=True)
            for (name, _), rollout in zip(group, rollouts, strict=True)
        ]
        if self._config.step_wise_trajectories:
            rows = [row for name, rollout in named for row in _steps(name, rollout)]
        else:
            rows = [_drawn(name, rollout) for name, rollout in named]
        return _output(rows, step_wise=self._config.step_wise_trajectories)

    async def _rollouts(self, example: int, n: int, where: JSON) -> list[JSON]:
        """`n` rollouts with a reward and tokens; raises RefusedError if they cannot be had."""
        good: list[JSON] = []
        failure = "they called no model"
        for _ in range(TRIES):
            if self._by_group:  # whose rewards compare its members
                good = []
            for each in await self._service.ask(example, n - len(good), policy=where):
                if each["error"] is None and each["segments"]:
                    good.append(each)
                else:
                    failure = (each["error"] or {}).get("message", failure)
            if len(good) == n:
                return good
        raise RefusedError(f"rollouts of example {example} failed {TRIES} times: {failure}")


class _Policy:
    """Answers the calls of a batch by SkyRL's inference engines, from token ids."""

    def __init__(self, engines: Any, tokenizer: Any, config: Any, sampling: JSON) -> None:
        self._engines = engines
        self._tokenizer = tokenizer
        template = dict(config.chat_template_kwargs or {})
        self._conversations = Conversations(tokenizer, **template)
        self._sampling = sampling
        self._most = int(sampling.get("max_tokens") or config.sampling_params.max_generate_length)

    async def __call__(self, request: JSON) -> Sampled:
        if request.get("tools"):
            raise ValueError("SkyRL's engines parse no tool calls when they are asked by token ids")
        who, messages = request["user"], request["messages"]  # prime says which rollout it is
        prompt = self._conversations.prompt(messages, None, who)
        sampling = {**self._sampling, "max_tokens": length_of(request, self._most)}
        found = await self._engines.generate(
            {"prompt_token_ids": [prompt], "sampling_params": sampling, "session_ids": [who]}
        )
        logprobs = found.get("response_logprobs")
        (ids,) = found["response_ids"]
        if not logprobs or len(logprobs[0]) != len(ids):
            raise ValueError(
                "SkyRL's engines returned no log-probabilities: set "
                "generator.sampling_params.logprobs=1"
            )
        message = {"content": self._tokenizer.decode(ids, skip_special_tokens=True)}
        self._conversations.remember(messages, message, who, (prompt, list(ids)))
        ended = found["stop_reasons"][0]
        return Sampled(
            prompt, list(ids), list(logprobs[0]), message, "length" if ended == "length" else "stop"
        )


@dataclass(frozen=True)
class _Trained:
    """One row of the output; a step has a reward for each token, a rollout one for all."""

    name: TrajectoryID
    row: Row
    rewards: list[float] | float
    ended: str
    is_last: bool
    seconds: float


def _drawn(name: TrajectoryID, rollout: JSON) -> _Trained:
    segment = random.choice(rollout["segments"])  # noqa: S311 - no secret
    return _trained(name, rollout, segment, rollout["reward"], is_last=True)


def _steps(name: TrajectoryID, rollout: JSON) -> Iterable[_Trained]:
    *before, last = rollout["segments"]
    for segment in before:
        yield _trained(name, rollout, segment, 0.0, is_last=False, by_token=True)
    yield _trained(name, rollout, last, rollout["reward"], is_last=True, by_token=True)


def _trained(
    name: TrajectoryID,
    rollout: JSON,
    segment: JSON,
    reward: float,
    *,
    is_last: bool,
    by_token: bool = False,
) -> _Trained:
    row = row_of(segment)
    rewards = [0.0] * (len(row.response) - 1) + [reward] if by_token else reward
    ended = segment["spans"][-1][3] or "stop"
    seconds = float(rollout["timing"].get("total", 0.0))
    return _Trained(name, row, rewards, ended, is_last, seconds)


def _output(rows: list[_Trained], *, step_wise: bool) -> GeneratorOutput:
    responses = [each.row.response for each in rows]
    rewards, masks = [each.rewards for each in rows], [each.row.mask for each in rows]
    return {
        "prompt_token_ids": [each.row.prompt for each in rows],
        "response_ids": responses,
        "rewards": rewards,
        "loss_masks": masks,
        "stop_reasons": [each.ended for each in rows],
        "rollout_metrics": get_rollout_metrics(responses, rewards, loss_masks=masks),
        "rollout_logprobs": [each.row.logprobs for each in rows],
        "trajectory_ids": [each.name for each in rows],
        "trajectory_generation_times": [each.seconds for each in rows if each.is_last],
        "trajectory_time_splits": None,
        "rollout_expert_indices": None,
        "is_last_step": [each.is_last for each in rows] if step_wise else None,
        "env_metrics": None,
        "pixel_values": None,
        "image_grid_thw": None,
    }


def write_data(folder: Path) -> None:
    """Write train.parquet, a row for each example of the service."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [
        # The environment has its own prompt; SkyRL only wants one to be there.
        {"prompt": [{"role": "user", "content": f"example {number}"}], "example": number}
        for number in RolloutService().examples()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")


def _train(config: Any) -> None:
    from skyrl.train.entrypoints.main_base import BasePPOExp

    class PrimeExperiment(BasePPOExp):  # type: ignore[misc]
        def get_generator(
            self, cfg: Any, tokenizer: Any, inference_engine_client: Any
        ) -> GeneratorInterface:
            return PrimeGenerator(cfg.generator, inference_engine_client, tokenizer)

    PrimeExperiment(config).run()


def train(words: list[str]) -> None:
    """Start SkyRL's trainer with its own words, as its main_base does."""
    import ray
    from skyrl.train.config import SkyRLTrainConfig
    from skyrl.train.utils import validate_cfg
    from skyrl.train.utils.utils import initialize_ray

    config = SkyRLTrainConfig.from_cli_overrides(words)
    validate_cfg(config)
    initialize_ray(config)
    ray.get(ray.remote(num_cpus=1)(_train).remote(config))


if __name__ == "__main__":
    if any("=" in word for word in sys.argv[1:]):
        train(sys.argv[1:])
    else:
        write_data(Path(sys.argv[1]))
