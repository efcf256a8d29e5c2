"""Tinker: rollouts of `prime rollouts serve` in the cookbook's training. Tried with 0.6.1.

    import asyncio
    from prime_adapters.tinker import PrimeDatasetBuilder, use_prime
    from tinker_cookbook.rl import train

    model = "Qwen/Qwen3-4B-Instruct-2507"
    use_prime(model)
    data = PrimeDatasetBuilder(groups_per_batch=8, group_size=8)
    named = {"model_name": model, "recipe_name": "prime", "log_path": "runs/1"}
    config = train.Config(dataset_builder=data, max_tokens=512, learning_rate=1e-5, **named)
    asyncio.run(train.main(config))

A turn that does not continue the tokens of the one before is a row of its own, as Tinker trains
transitions; nothing is tokenized again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import chz
import tinker
from tinker_cookbook import renderers
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.exceptions import AllTrajectoriesFailedError
from tinker_cookbook.rl import rollouts
from tinker_cookbook.rl.types import (
    Env,
    EnvGroupBuilder,
    RLDataset,
    RLDatasetBuilder,
    RolloutError,
    Trajectory,
    TrajectoryGroup,
    Transition,
)

from .service import JSON, PolicyServer, RolloutService, Sampled, length_of

MOST_TOKENS = 1 << 20
"""The policy has a limit of its own, which is lower."""


@dataclass
class PrimeGroup(EnvGroupBuilder):  # type: ignore[misc]
    """`size` rollouts of one example."""

    example: int
    size: int

    async def make_envs(self) -> Sequence[Env]:
        """Not used: prime runs the environment."""
        raise NotImplementedError("call use_prime() before the training")

    def logging_tags(self) -> list[str]:
        """The name of its metrics."""
        return ["prime"]


class PrimeDataset(RLDataset):  # type: ignore[misc]
    """The examples of the service, in batches of groups."""

    def __init__(self, examples: list[int], groups_per_batch: int, group_size: int) -> None:
        self._examples = examples
        self._groups = groups_per_batch
        self._size = group_size

    def __len__(self) -> int:
        return math.ceil(len(self._examples) / self._groups)

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """The groups of a batch."""
        start = index * self._groups
        chosen = self._examples[start : start + self._groups]
        return [PrimeGroup(example, self._size) for example in chosen]


@chz.chz
class PrimeDatasetBuilder(RLDatasetBuilder):  # type: ignore[misc]
    """The dataset of a training, without one for tests."""

    groups_per_batch: int = 8
    group_size: int = 8

    async def __call__(self) -> tuple[RLDataset, RLDataset | None]:
        examples = RolloutService().examples()
        return PrimeDataset(examples, self.groups_per_batch, self.group_size), None


def use_prime(
    model: str, renderer: renderers.Renderer | None = None, service: RolloutService | None = None
) -> None:
    """Let the cookbook's rollouts be those of the service, rendered for `model`."""
    chosen = renderer or _renderer_of(model)
    client = service or RolloutService()
    policies = PolicyServer()

    async def group_rollout(
        builder: EnvGroupBuilder, policy: TokenCompleter, *_: Any, **__: Any
    ) -> TrajectoryGroup:
        if not isinstance(builder, PrimeGroup):
            raise TypeError(f"{type(builder).__name__} is not a group of prime")
        with policies.serving(_Policy(policy, chosen)) as where:
            found = await client.ask(builder.example, builder.size, policy=where)
        return trajectories(found)

    # The cookbook's own recipe for verifiers replaces the same function, in the same place.
    rollouts.do_group_rollout = group_rollout


def _renderer_of(model: str) -> renderers.Renderer:
    from tinker_cookbook import model_info
    from tinker_cookbook.tokenizer_utils import get_tokenizer

    name = model_info.get_recommended_renderer_name(model)
    return renderers.get_renderer(name, get_tokenizer(model))


class _Policy:
    """Answers the calls of a group by a policy of the cookbook."""

    def __init__(self, policy: TokenCompleter, renderer: renderers.Renderer) -> None:
        self._policy = policy
        self._renderer = renderer

    async def __call__(self, request: JSON) -> Sampled:
        if request.get("tools"):
            raise ValueError("the cookbook's renderers take no tools by this way")
        renderer = self._renderer
        prompt = renderer.build_generation_prompt(request["messages"])
        found = await self._policy(
            prompt, renderer.get_stop_sequences(), max_tokens=length_of(request, MOST_TOKENS)
        )
        message, _ = renderer.parse_response(found.tokens)
        content = renderers.format_content_as_string(message["content"])
        ended = "length" if found.stop_reason == "length" else "stop"
        return Sampled(prompt.to_ints(), found.tokens, found.logprobs, {"content": content}, ended)


def trajectories(found: Sequence[JSON]) -> TrajectoryGroup:
    """Rollouts of a group; those without a reward are its errors.

    Raises AllTrajectoriesFailedError if there is no other, which skips the group.
    """
    good = [each for each in found if each["error"] is None and each["segments"]]
    errors = [
        RolloutError(error["type"], error["message"])
        for error in ((each["error"] or _NO_CALL) for each in found if each not in good)
    ]
    if not good:
        raise AllTrajectoriesFailedError("; ".join(each.error_message for each in errors))
    return TrajectoryGroup(
        [_trajectory(each) for each in good],
        [each["reward"] for each in good],
        [
            {name: value for name, value in each["metrics"].items() if _is_number(value)}
            for each in good
        ],
        rollout_errors=errors,
    )


_NO_CALL = {"type": "NoCalls", "message": "the rollout called no model"}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _trajectory(rollout: JSON) -> Trajectory:
    turns = [
        (segment["ids"][:start], segment["ids"][start:end], segment["logprobs"][start:end])
        for segment in rollout["segments"]
        for start, end, *_ in segment["spans"]
    ]
    transitions = [
        Transition(
            ob=tinker.ModelInput.from_ints(prompt),
            ac=TokensWithLogprobs(tokens=ids, maybe_logprobs=logprobs),
            reward=0.0,
            episode_done=number == len(turns),
        )
        for number, (prompt, ids, logprobs) in enumerate(turns, 1)
    ]
    return Trajectory(transitions=transitions, final_ob=tinker.ModelInput.empty())
