"""What happens between steps: reports to prime, checkpoints, evaluations."""

import math
import time
from typing import Any

import psutil
import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback

from .config import Config
from .exactness import require_close
from .failures import not_finite
from .policy import Policy
from .rollouts import Rollouts
from .service import Service


class Steps(TrainerCallback):  # type: ignore[misc]
    """Reports each step to prime, and saves and evaluates when it is time.

    Once it is `finished`, nothing is left to learn: the last step came early.
    """

    def __init__(
        self,
        config: Config,
        service: Service,
        rollouts: Rollouts,
        policy: Policy,
        processes: PartialState,
    ) -> None:
        self.trainer: Any = None
        self.finished = False
        self._config, self._service = config, service
        self._rollouts, self._policy, self._processes = rollouts, policy, processes
        self._mark = (time.perf_counter(), 0.0, 0.0, 0.0)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluate if that was asked for after the last step, and note when this one began."""
        if self._is_to_be_evaluated(state.global_step):
            self.evaluate(state.global_step)
        policy = self._policy
        synced = self._rollouts.sampler.synced
        self._mark = time.perf_counter(), policy.generated, policy.waited, synced

    def evaluate(self, step: int) -> None:
        """Let prime evaluate the current weights, while those of the main process answer.

        Nothing is done where no evaluation is planned.
        """
        if self._config.evaluate and self._processes.is_main_process:
            self._policy.begin(f"eval {step}", as_served=True)
            waiting = self._service.evaluate(step)
            self._policy.pump(self._rollouts.sampler, waiting.done)
            self.trainer.best = waiting.result().get("best")
        self._processes.wait_for_everyone()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Raise Stopped where a gradient is not finite."""
        for parameter in self.trainer.model.parameters():
            if parameter.grad is not None and not torch.isfinite(parameter.grad).all():
                raise not_finite("gradient", state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> Any:
        """Report the step; prime says whether it is the last one."""
        if not logs or "loss" not in logs:
            return control
        step = state.global_step
        answer = self._keep_step(step, logs)
        self.finished = bool(answer.get("finished"))
        if answer.get("stop"):
            control.should_save = control.should_training_stop = True
        is_due = step % self._config.save_every == 0 or step == self._config.steps
        if is_due or self._is_to_be_evaluated(step):  # what fails there then loses nothing
            control.should_save = True
        return control

    def _keep_step(self, step: int, logs: dict[str, Any]) -> dict[str, Any]:
        """The main process reports the step, and all get the same answer."""
        answers: list[Any] = [None]
        if self._processes.is_main_process:
            answers = [self._service.keep_step(step, self._metrics(logs))]
        if self._processes.num_processes > 1:
            broadcast_object_list(answers)
        return dict(answers[0])

    def _is_to_be_evaluated(self, step: int) -> bool:
        every = self._config.eval_every if self._config.evaluate else 0
        return every > 0 and step > 0 and step % every == 0

    def _metrics(self, logs: dict[str, Any]) -> dict[str, Any]:
        began, generated, waited, synced = self._mark
        seconds = {
            "rollouts": self._rollouts.seconds,
            "generate": self._policy.generated - generated,
            "wait": self._policy.waited - waited,
            "train": time.perf_counter() - began - self._rollouts.seconds,
            "sync": self._rollouts.sampler.synced - synced,
        }
        known = {name: logs.get(key) for name, key in _NAMES.items()}
        gap = self._rollouts.gap
        if (found := logs.get(_GAP)) is not None:  # with vLLM TRL compares all of them each time
            require_close(gap := float(found))
        extra: dict[str, Any] = {
            name: value
            for name, value in logs.items()
            if name not in _REPORTED and isinstance(value, float | int)
        }
        if self._rollouts.refilled is not None:
            extra |= self._rollouts.refilled.metrics()
        found = known | {"logprob_gap": gap, "memory_mb": _memory_mb()}
        infinite = [name for name, value in {**found, **extra}.items() if not _is_finite(value)]
        if infinite:
            extra["not_finite"] = infinite
        return {
            **_finite(found),
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "extra": _finite(extra),
        }


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _finite(metrics: dict[str, Any]) -> dict[str, Any]:
    """The same with null for what JSON has no number for."""
    return {name: value if _is_finite(value) else None for name, value in metrics.items()}


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
_GAP = "sampling/sampling_logp_difference/mean"
_REPORTED = {*_NAMES.values(), "reward", "reward_std", "frac_reward_zero_std"}
"""TRL's names that are in a line: prime counts what it knows of the rollouts itself."""


def _memory_mb() -> int:
    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated() >> 20)
    return int(psutil.Process().memory_info().rss >> 20)
