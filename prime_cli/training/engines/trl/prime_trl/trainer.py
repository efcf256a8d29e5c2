"""TRL's trainers, which write whole checkpoints and apply no step that is not finite."""

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from trl.trainer.utils import RepeatSampler, shuffle_sequence_dict

from .checkpoints import make_empty, publish, remove_old
from .config import Config
from .failures import Stopped, not_finite
from .memory import rows_at_once
from .rows import ROLLOUT

_LONGEST_ROW = 1 << 20
"""TRL's limit must not cut rows: lengths are limited where tokens are sampled."""


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


class WholeSteps(Trainer):  # type: ignore[misc]
    """Applies no step that is not finite, and publishes checkpoints only when they are whole."""

    def __init__(self, *args: Any, run_folder: Path, keep: int, **options: Any) -> None:
        self._place = run_folder / "checkpoints"
        self._aside: Path | None = None
        self._keep = keep
        self.best: int | None = None
        super().__init__(*args, **options)

    def training_step(self, *args: Any, **options: Any) -> Any:
        """One backward pass; raises Stopped before a loss that is not finite is applied."""
        loss = super().training_step(*args, **options)
        if not torch.isfinite(loss).all():
            raise not_finite("loss", self.state.global_step)
        return loss

    def _get_output_dir(self, trial: Any) -> str:
        return str(super()._get_output_dir(trial) if self._aside is None else self._aside)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        step, processes = self.state.global_step, self.accelerator
        self._aside = self._place / f".tmp-{step}"
        if processes.is_main_process:
            make_empty(self._aside)
        processes.wait_for_everyone()
        try:
            # Not GRPOTrainer's, which also writes a page about the model.
            Trainer._save_checkpoint(self, model, trial)  # noqa: SLF001
            processes.wait_for_everyone()  # each writes the state of its random numbers
            if processes.is_main_process:
                publish(self._aside / f"checkpoint-{step}", self._place / str(step))
                self.remove_old_checkpoints()
        finally:
            self._aside = None

    def remove_old_checkpoints(self) -> None:
        """Keep the last ones and the best."""
        remove_old(self._place, self._keep, self.best)


class WholeTrainer(WholeSteps, GRPOTrainer):  # type: ignore[misc]
    """Of rollouts, whose prompts come in an order that a resumed training knows.

    A rollout may have several rows, for which TRL has no room: `_generate` may return more rows
    than prompts.
    """

    _buffered_inputs: list[dict[str, Any]] | None

    def _generate(self, prompts: list[Any]) -> Any:
        """Ask for rollouts; the weights are copied into vLLM by who samples, evaluations too."""
        self._last_loaded_step = self.state.global_step
        found = super()._generate(prompts)
        masks, columns = found[2], found[5]
        self._owners = torch.tensor(columns.pop(ROLLOUT))
        if len(masks) > len(prompts):
            # TRL counted the tokens of a row, where a step's `length` is that of a rollout.
            sampled = torch.tensor([sum(map(sum, masks))], device=self.accelerator.device)
            length = self.accelerator.gather(sampled).float().mean() / len(prompts)
            self._metrics["train"]["completions/mean_length"][-1] = length.item()
        return found

    def _generate_and_score_completions(self, inputs: list[Any]) -> dict[str, torch.Tensor]:
        """The rows of a step. TRL compares rollouts, and all rows of one have its advantage."""
        found: dict[str, torch.Tensor] = super()._generate_and_score_completions(inputs)
        owners = self._owners.to(found["advantages"].device)
        found["advantages"] = found["advantages"][owners]
        if self.loss_type == "grpo":  # which means over the tokens of a rollout, not of a row
            tokens = (found["completion_mask"] * found["tool_mask"]).sum(-1).float()
            whole = torch.zeros(len(inputs), device=tokens.device).index_add(0, owners, tokens)
            found["advantages"] *= tokens / whole[owners].clamp(min=1.0)
        return found

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """The rows of a pass. TRL would leave some out where they cannot be divided evenly."""
        count = self.args.steps_per_generation
        if self._step % (count * self.num_iterations) == 0 or self._buffered_inputs is None:
            rows = shuffle_sequence_dict(self._generate_and_score_completions(generation_batch))
            self._buffered_inputs = self._passes(rows, len(generation_batch))
        return self._buffered_inputs[self._step % count]

    def _passes(self, rows: dict[str, torch.Tensor], rollouts: int) -> list[dict[str, Any]]:
        """The rows of a step of so many `rollouts`, divided among its passes."""
        size, count = len(rows["advantages"]), self.args.steps_per_generation
        found = []
        for low, high in pairwise(size * each // count for each in range(count + 1)):
            one = {name: value[low:high] if value.ndim else value for name, value in rows.items()}
            if self.loss_type == "grpo":  # whose mean over the rows of a pass is one over rollouts
                one["advantages"] = one["advantages"] * ((high - low) * count / rollouts)
            found.append(one)
        return found

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


class WholeSftTrainer(WholeSteps, SFTTrainer):  # type: ignore[misc]
    """Of rows that are tokenized."""


def training_arguments(config: Config, run_folder: Path, longest: int) -> Any:
    """TRL's defaults, but for what was asked for; `--set` comes last and wins.

    The `longest` row has so many tokens, which decides how many go through the model together.
    """
    has_gpu = torch.cuda.is_available()
    kind, own = (SFTConfig, _OF_ROWS) if config.data else (GRPOConfig, _of_rollouts(config))
    options: dict[str, Any] = {
        "output_dir": str(run_folder / "checkpoints"),
        "run_name": run_folder.name,
        "use_cpu": not has_gpu,
        "bf16": has_gpu,
        "per_device_train_batch_size": rows_at_once(config, longest),
        "max_steps": config.steps,
        "learning_rate": config.lr,
        "lr_scheduler_type": config.schedule,
        "warmup_steps": config.warmup,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": [config.report] if config.report else [],
        "save_strategy": "no",
        "seed": config.seed,
        "gradient_checkpointing": has_gpu,
        "disable_tqdm": True,
        "dataloader_pin_memory": has_gpu,
        "model_init_kwargs": {"dtype": "float32", "trust_remote_code": config.trust_remote_code},
    }
    options |= own | config.options
    size = options["per_device_train_batch_size"]
    if config.rows % size == 0:
        options.setdefault("gradient_accumulation_steps", config.rows // size)
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        if not config.options:
            raise
        raise Stopped("usage", f"TRL refuses the settings: {error}", "correct `--set`") from error


_OF_ROWS = {"max_length": None, "dataloader_drop_last": True}
"""Rows are not cut, and each step has as many."""


def _of_rollouts(config: Config) -> dict[str, Any]:
    return {
        "beta": 0.0,
        "num_generations": config.group,
        "max_completion_length": _LONGEST_ROW,
        "temperature": config.temperature,
        "use_vllm": config.vllm,
        # Else its share of the memory would be missing while the weights are updated.
        "vllm_enable_sleep_mode": config.vllm and torch.cuda.is_available(),
    }
