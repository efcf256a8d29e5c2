"""TRL's GRPOTrainer, which gets its rollouts from prime and writes whole checkpoints."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import torch
from transformers import Trainer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import RepeatSampler

from .checkpoints import folder_aside, publish, remove_old
from .config import Config
from .exactness import is_due, logprob_gap
from .failures import Stopped
from .memory import rows_at_once
from .policy import Policy
from .rows import TrainingRow, row_of
from .service import Service

_LONGEST_ROW = 1 << 20
"""TRL's limit must not cut rows: lengths are limited where tokens are sampled."""


class Rollouts:
    """TRL's `rollout_func`: asks prime for the groups of a step, and makes rows of them."""

    def __init__(self, config: Config, service: Service, policy: Policy, filler: int) -> None:
        self.gap: float | None = None
        self.seconds = 0.0
        self._config, self._service, self._policy = config, service, policy
        self._filler = filler

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        began = time.perf_counter()
        step = trainer.state.global_step + 1
        self.gap = None
        self._service.set_policy(version=step - 1)
        model = trainer.accelerator.unwrap_model(trainer.model)
        found = self.ask(_grouped(prompts), model, f"train {step}", {"step": step})
        rows = [row_of(each, self._filler, str(self._config.seed)) for each in found]
        if is_due(step):
            self.gap = logprob_gap(model, rows, self._config.temperature)
        self.seconds = time.perf_counter() - began
        return _columns(rows)

    def ask(
        self, groups: list[tuple[int, int]], model: Any, phase: str, tag: dict[str, Any]
    ) -> list[Any]:
        """The rollouts of (example, count), in order; the model answers until all are there."""
        self._policy.begin(phase)
        waiting = [self._service.group(example, count, tag) for example, count in groups]
        self._policy.pump(model, lambda: all(each.done() for each in waiting))
        return [rollout for each in waiting for rollout in each.result()]


def _grouped(prompts: list[str]) -> list[tuple[int, int]]:
    """Prompts come repeated, once for each rollout of a group."""
    groups: list[tuple[int, int]] = []
    for example in map(int, prompts):
        if groups and groups[-1][0] == example:
            groups[-1] = example, groups[-1][1] + 1
        else:
            groups.append((example, 1))
    return groups


def _columns(rows: list[TrainingRow]) -> dict[str, list[Any]]:
    return {
        "prompt_ids": [row.prompt for row in rows],
        "completion_ids": [row.completion for row in rows],
        "logprobs": [row.logprobs for row in rows],
        "env_mask": [row.mask for row in rows],
        "env_reward": [row.reward for row in rows],
    }


def reward_of_environment(env_reward: list[float | None], **_: Any) -> list[float | None]:
    """The reward that came with each row."""
    return env_reward


class EpochOrder(RepeatSampler):  # type: ignore[misc]
    """The order of the prompts in an epoch, which follows from the seed and the epoch alone.

    TRL's own also depends on the epochs before, which a resumed training does not go through.
    """

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before each epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        number = random.Random(f"{self.seed} {self.epoch}").getrandbits(63)  # noqa: S311 - no secret
        if self.shuffle:
            self.generator.manual_seed(number)
        yield from super().__iter__()


class WholeTrainer(GRPOTrainer):  # type: ignore[misc]
    """Applies no step that is not finite, and publishes checkpoints only when they are whole."""

    def __init__(self, *args: Any, run_folder: Path, keep: int, **options: Any) -> None:
        self._place = run_folder / "checkpoints"
        self._aside: Path | None = None
        self._keep = keep
        super().__init__(*args, **options)

    def training_step(self, *args: Any, **options: Any) -> Any:
        """One backward pass; raises Stopped before a loss that is not finite is applied."""
        loss = super().training_step(*args, **options)
        if not torch.isfinite(loss).all():
            raise _not_finite("loss", self.state.global_step)
        return loss

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        found = super()._get_train_sampler(dataset)
        return EpochOrder(
            data_source=found.data_source,
            mini_repeat_count=found.mini_repeat_count,
            batch_size=found.batch_size,
            repeat_count=found.repeat_count,
            shuffle=found.shuffle,
            seed=found.seed,
        )

    def _get_output_dir(self, trial: Any) -> str:
        return str(super()._get_output_dir(trial) if self._aside is None else self._aside)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        step = self.state.global_step
        self._aside = folder_aside(self._place, step)
        try:
            # Not GRPOTrainer's, which also writes a page about the model.
            Trainer._save_checkpoint(self, model, trial)  # noqa: SLF001
            publish(self._aside / f"checkpoint-{step}", self._place / str(step))
        finally:
            self._aside = None
        remove_old(self._place, self._keep)


class Steps(TrainerCallback):  # type: ignore[misc]
    """Reports each step to prime, and saves and evaluates when it is time.

    Once it is `finished`, nothing is left to learn: the last step came early.
    """

    def __init__(
        self, config: Config, service: Service, rollouts: Rollouts, policy: Policy
    ) -> None:
        self.trainer: Any = None
        self.finished = False
        self._config, self._service = config, service
        self._rollouts, self._policy = rollouts, policy
        self._mark = (time.perf_counter(), 0.0, 0.0)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluate if that was asked for after the last step, and note when this one began."""
        if self._is_to_be_evaluated(state.global_step):
            evaluate(self._service, self._policy, self.trainer, state.global_step)
        self._mark = time.perf_counter(), self._policy.generated, self._policy.waited

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Raise Stopped where a gradient is not finite."""
        for parameter in self.trainer.model.parameters():
            if parameter.grad is not None and not torch.isfinite(parameter.grad).all():
                raise _not_finite("gradient", state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> Any:
        """Report the step; prime says whether it is the last one."""
        if not logs or "loss" not in logs:
            return control
        step = state.global_step
        answer = self._service.keep_step(step, self._metrics(logs))
        self.finished = bool(answer.get("finished"))
        if answer.get("stop"):
            control.should_save = control.should_training_stop = True
        is_due = step % self._config.save_every == 0 or step == self._config.steps
        if is_due or self._is_to_be_evaluated(step):  # what fails there then loses nothing
            control.should_save = True
        return control

    def _is_to_be_evaluated(self, step: int) -> bool:
        every = self._config.eval_every if self._config.evaluate else 0
        return every > 0 and step > 0 and step % every == 0

    def _metrics(self, logs: dict[str, Any]) -> dict[str, Any]:
        began, generated, waited = self._mark
        seconds = {
            "rollouts": self._rollouts.seconds,
            "generate": self._policy.generated - generated,
            "wait": self._policy.waited - waited,
            "train": time.perf_counter() - began - self._rollouts.seconds,
        }
        known = {name: logs.get(key) for name, key in _NAMES.items()}
        extra = {
            name: value
            for name, value in logs.items()
            if name not in _REPORTED and isinstance(value, float | int)
        }
        return {
            **known,
            "logprob_gap": self._rollouts.gap,
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "memory_mb": _memory_mb(),
            "extra": extra,
        }


_NAMES = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "entropy": "entropy",
    "kl": "kl",
    "clip": "clip_ratio/region_mean",
    "lr": "learning_rate",
    "length": "completions/mean_length",
}
"""Names of metrics.jsonl by TRL's own."""
_REPORTED = {*_NAMES.values(), "reward", "reward_std", "frac_reward_zero_std"}
"""TRL's names that are in a line: prime counts what it knows of the rollouts itself."""


def _memory_mb() -> int:
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated() >> 20)
    return int(psutil.Process().memory_info().rss >> 20)


def _not_finite(what: str, done: int) -> Stopped:
    return Stopped(
        "gate_failed",
        f"The {what} of step {done + 1} is not finite; the step was not applied",
        "use a smaller `--lr`",
    )


def evaluate(service: Service, policy: Policy, trainer: Any, step: int) -> dict[str, Any]:
    """Let prime evaluate the current weights, while they answer."""
    policy.begin(f"eval {step}")
    waiting = service.evaluate(step)
    policy.pump(trainer.accelerator.unwrap_model(trainer.model), waiting.done)
    return waiting.result()


def training_arguments(config: Config, run_folder: Path) -> GRPOConfig:
    """GRPO's defaults of TRL, but for what was asked for; `--set` comes last and wins."""
    has_gpu = torch.cuda.is_available()
    options: dict[str, Any] = {
        "output_dir": str(run_folder / "checkpoints"),
        "use_cpu": not has_gpu,
        "bf16": has_gpu,
        "beta": 0.0,
        "per_device_train_batch_size": rows_at_once(config),
        "num_generations": config.group,
        "max_steps": config.steps,
        "learning_rate": config.lr,
        "lr_scheduler_type": "constant",
        "max_completion_length": _LONGEST_ROW,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "temperature": config.temperature,
        "report_to": [config.report] if config.report else [],
        "save_strategy": "no",
        "seed": config.seed,
        "gradient_checkpointing": has_gpu,
        "disable_tqdm": True,
        "dataloader_pin_memory": has_gpu,
        "model_init_kwargs": {"dtype": "float32", "trust_remote_code": config.trust_remote_code},
    } | config.options
    size = options["per_device_train_batch_size"]
    if config.rows % size == 0:
        options.setdefault("gradient_accumulation_steps", config.rows // size)
    try:
        return GRPOConfig(**options)
    except (TypeError, ValueError) as error:
        if not config.options:
            raise
        raise Stopped("usage", f"TRL refuses the settings: {error}", "correct `--set`") from error
