"""TRL's GRPOTrainer, which writes whole checkpoints and applies no step that is not finite."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import RepeatSampler

from .checkpoints import make_empty, publish, remove_old
from .config import Config
from .failures import Stopped, not_finite
from .memory import rows_at_once

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
            raise not_finite("loss", self.state.global_step)
        return loss

    def _generate(self, prompts: list[Any]) -> Any:
        """Ask for rollouts; the weights are copied into vLLM by who samples, evaluations too."""
        self._last_loaded_step = self.state.global_step
        return super()._generate(prompts)

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
                remove_old(self._place, self._keep)
        finally:
            self._aside = None


def training_arguments(config: Config, run_folder: Path) -> GRPOConfig:
    """GRPO's defaults of TRL, but for what was asked for; `--set` comes last and wins."""
    has_gpu = torch.cuda.is_available()
    options: dict[str, Any] = {
        "output_dir": str(run_folder / "checkpoints"),
        "run_name": run_folder.name,
        "use_cpu": not has_gpu,
        "bf16": has_gpu,
        "beta": 0.0,
        "per_device_train_batch_size": rows_at_once(config),
        "num_generations": config.group,
        "max_steps": config.steps,
        "learning_rate": config.lr,
        "lr_scheduler_type": config.schedule,
        "warmup_steps": config.warmup,
        "max_completion_length": _LONGEST_ROW,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "temperature": config.temperature,
        "report_to": [config.report] if config.report else [],
        "save_strategy": "no",
        "seed": config.seed,
        "gradient_checkpointing": has_gpu,
        "use_vllm": config.vllm,
        # Else its share of the memory would be missing while the weights are updated.
        "vllm_enable_sleep_mode": config.vllm and has_gpu,
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
