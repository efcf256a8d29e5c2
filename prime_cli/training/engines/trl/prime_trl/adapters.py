"""Adapters (LoRA), which are trained instead of the weights."""

from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from .config import Config
from .failures import Stopped
from .memory import described_model

_SHOWN = 12


def adapters_of(config: Config) -> Any:
    """PEFT's config of the adapters; None where all weights are trained."""
    if not config.lora:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=config.lora,
        lora_alpha=config.lora_alpha or 2 * config.lora,
        target_modules=list(config.lora_targets) or "all-linear",
        task_type="CAUSAL_LM",
    )


def require_layers(config: Config) -> None:
    """Raise Stopped for a target that no layer of the model is called by: PEFT ignores it beside
    others that are there.
    """
    if not config.lora_targets:
        return
    modules = described_model(config).named_modules()
    names = [name for name, module in modules if isinstance(module, nn.Linear | Conv1D)]
    for wanted in config.lora_targets:
        if not any(name == wanted or name.endswith(f".{wanted}") for name in names):
            known = sorted({name.rpartition(".")[2] for name in names})[:_SHOWN]
            raise Stopped(
                "usage",
                f"The model has no linear layer `{wanted}`",
                f"`--lora-targets` takes {', '.join(known)}",
            )
