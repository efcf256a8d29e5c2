"""What TRL's trainer asks for rollouts: prime plays them, while the model answers."""

import time
from collections.abc import Sequence
from itertools import count
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object

from .config import Config
from .exactness import is_due, logprob_gap
from .policy import Policy
from .refill import Group, Refilled, refill, spare_examples
from .rows import columns_of, rows_of
from .sampling import Sampler
from .service import Service


class Rollouts:
    """TRL's `rollout_func`: asks prime for the groups of a step, and makes rows of them:
    several of a rollout with several segments, which `WholeTrainer` expects.

    Each of several processes asks for groups of its own, which its own `sampler` answers.
    """

    def __init__(
        self,
        config: Config,
        service: Service,
        policy: Policy,
        processes: PartialState,
        filler: int,
    ) -> None:
        self.sampler: Sampler
        self.gap: float | None = None
        self.seconds = 0.0
        self.examples: list[int] = []
        self.refilled: Refilled | None = None
        self._config, self._service, self._policy = config, service, policy
        self._processes, self._filler = processes, filler

    def offer_policy(self) -> None:
        """Tell prime where the weights of the main process answer, and how they are sampled."""
        config = self._config
        sampling = {"temperature": config.temperature, "max_tokens": config.max_tokens}
        if self._processes.is_main_process:
            self._service.set_policy(**self._answers_at(), version=0, sampling=sampling)

    def _answers_at(self) -> dict[str, str]:
        policy = self._policy
        return {"url": policy.url, "api_key": policy.key, "model": self._config.model}

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        began = time.perf_counter()
        step = trainer.state.global_step + 1
        self.gap = None
        own = None
        if self._processes.is_main_process:
            self._service.set_policy(version=step - 1)
        else:
            own = {**self._answers_at(), "version": step - 1}
        self._processes.wait_for_everyone()  # by now prime knows the version
        groups = _grouped(prompts, self._config.group)
        found = self.ask(groups, f"train {step}", {"step": step}, own)
        if self._config.refill:
            found = self._refill(found, groups, step, own)
        rows = [rows_of(each, self._filler) for each in found]
        if is_due(step):
            model = trainer.accelerator.unwrap_model(trainer.model)
            self.gap = logprob_gap(
                model, [row for own in rows for row in own], self._config.temperature
            )
        size = self._most(sum(map(len, rows)))
        self.seconds = time.perf_counter() - began
        return dict(columns_of(found, rows, self._filler, size))

    def _refill(
        self, found: list[Any], groups: list[tuple[int, int]], step: int, own: Any
    ) -> list[Any]:
        """The rollouts of a step, without the groups that teach nothing where others were found."""
        config, processes = self._config, self._processes
        part = processes.process_index, processes.num_processes
        used = [example for example, _ in groups]
        seed = f"refill {config.seed} {step}"
        spare = spare_examples(self.examples, used, config.refill, seed, part)
        rounds = count()

        def ask(examples: Sequence[int]) -> list[Group]:
            wanted = [(example, config.group) for example in examples]
            phase = f"train {step} again {next(rounds)}"
            return _apart(self.ask(wanted, phase, {"step": step}, own), config.group)

        kept, counted = refill(_apart(found, config.group), spare, ask)
        all_counted = gather_object([counted]) if processes.num_processes > 1 else [counted]
        self.refilled = sum(all_counted, Refilled())
        return [rollout for group in kept for rollout in group]

    def _most(self, rows: int) -> int:
        """The largest of the counts of all processes, whose batches must have one size."""
        if self._processes.num_processes == 1:
            return rows
        return int(max(gather_object([rows])))

    def ask(
        self,
        groups: list[tuple[int, int]],
        phase: str,
        tag: dict[str, Any],
        policy: dict[str, Any] | None = None,
    ) -> list[Any]:
        """The rollouts of (example, count), in order; the sampler answers until all are there.

        `policy` is where this process answers, unless prime asks it by default.
        """
        self._policy.begin(phase)
        waiting = [self._service.group(example, count, tag, policy) for example, count in groups]
        self._policy.pump(self.sampler, lambda: all(each.done() for each in waiting))
        return [rollout for each in waiting for rollout in each.result()]


def _grouped(prompts: list[str], size: int) -> list[tuple[int, int]]:
    """Prompts come repeated, once for each rollout of a group of that `size`."""
    groups: list[tuple[int, int]] = []
    for example in map(int, prompts):
        if groups and groups[-1][0] == example and groups[-1][1] < size:
            groups[-1] = example, groups[-1][1] + 1
        else:
            groups.append((example, 1))
    return groups


def _apart(rollouts: list[Any], size: int) -> list[Group]:
    return [rollouts[start : start + size] for start in range(0, len(rollouts), size)]


def reward_of_environment(env_reward: list[float | None], **_: Any) -> list[float | None]:
    """The reward that came with each rollout."""
    return env_reward
