"""Whether a model and its optimizer fit into this machine, and its GPU is there for them."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from trl import GRPOConfig

from .config import Config
from .failures import Stopped, not_loaded

_WHOLE = 16
"""Bytes for a parameter in float32: itself, its gradient, and two moments of Adam."""
_WITHOUT_GRADIENTS = 12
"""The same between two steps."""
_LOGIT = 16
"""Bytes for a logit: itself, its softmax, and their gradients."""
_UNLIMITED = 4
"""Turns that are counted on where an environment has no limit: few play to the end of it."""
_SHARE = GRPOConfig.vllm_gpu_memory_utilization
_FROZEN = 5
"""The same under adapters, which are small."""


def most_turns(environment: dict[str, Any]) -> int:
    """The most turns of a rollout in any of the environments, as prime describes them."""
    each = environment["environments"] or [environment]
    return max(one.get("max_turns") or _UNLIMITED for one in each)


def require_gpu(listed: list[str]) -> None:
    """Raise Stopped where torch can use none of the GPUs that are `listed`, and they are wanted."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if not listed or hidden or torch.cuda.is_available():
        return
    cuda = torch.version.cuda
    built = f"is built for CUDA {cuda}, which needs a newer driver" if cuda else "is for a CPU"
    raise Stopped(
        "engine_failed",
        f"nvidia-smi lists {listed[0]}, but torch cannot use it: torch {torch.__version__} {built}",
        "update the driver, or name an interpreter whose torch fits it with `--engine-python`; "
        "`CUDA_VISIBLE_DEVICES=-1` trains on the CPU",
    )


def described_model(config: Config) -> Any:
    """The model without its weights, which take no memory; raises Stopped if there is none."""
    return _described(config.model, config.trust_remote_code)


@lru_cache(maxsize=1)
def _described(model: str, trust: bool) -> Any:  # noqa: FBT001 - the key of the cache
    try:
        described = AutoConfig.from_pretrained(model, trust_remote_code=trust)
    except (OSError, ValueError) as error:
        raise not_loaded(error) from error
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(described, trust_remote_code=trust)


def require_memory(config: Config) -> None:
    """Raise Stopped if what every parameter needs is more than there is."""
    count = _parameters(config)
    needed, there = count * (_FROZEN if config.lora else _WHOLE), free_memory(config.processes)
    hint = "use a smaller model" if config.lora else "train adapters alone with `--lora 16`"
    if config.vllm:
        # It sleeps while gradients are there.
        share = float(config.options.get("vllm_gpu_memory_utilization", _SHARE))
        sampling = count * (_FROZEN if config.lora else _WITHOUT_GRADIENTS)
        needed = max(needed, sampling + int(share * _all_memory(config.processes)))
        hint += ", or give vLLM less with `--set vllm_gpu_memory_utilization=0.2`"
    if needed <= there:
        return
    raise Stopped(
        "engine_failed",
        f"{Path(config.model).name} has {count:,} parameters, which need {_gb(needed)} to be "
        f"trained; {_gb(there)} are free",
        hint,
    )


def forecast(config: Config, longest: int) -> str | None:
    """A warning if a row of `longest` tokens, all turns of a rollout, may need more than is free.

    Few rollouts are as long as they may be, so that this ends nothing.
    """
    tokens, logits = _longest_row(config, longest)
    needed = _parameters(config) * (_FROZEN if config.lora else _WHOLE) + logits
    there = free_memory(config.processes)
    if needed <= there:
        return None
    return (
        f"An update on a rollout of {tokens:,} tokens, the most that it may have, needs "
        f"{_gb(needed)}; {_gb(there)} are free: shorter answers need less (`-t`)"
    )


def rows_at_once(config: Config, longest: int) -> int:
    """How many rows of at most `longest` tokens go through the model together.

    The logits of all may be far too large.
    """
    _, row = _longest_row(config, longest)
    # By what the machine has, not by what is free: a resumed training must add the same numbers.
    most = max(1, _all_memory(config.processes) // 8 // row)
    sizes = (size for size in range(1, config.rows + 1) if config.rows % size == 0)
    return max(size for size in sizes if size <= most)


def _parameters(config: Config) -> int:
    return sum(parameter.numel() for parameter in described_model(config).parameters())


def _longest_row(config: Config, longest: int) -> tuple[int, int]:
    """The tokens of a row of at most `longest`, and the bytes of its logits."""
    described = AutoConfig.from_pretrained(config.model, trust_remote_code=config.trust_remote_code)
    text = described.get_text_config()
    tokens = min(longest, getattr(text, "max_position_embeddings", None) or longest)
    return tokens, tokens * text.vocab_size * _LOGIT


def free_memory(processes: int) -> int:
    """Bytes that each process can use: its GPU's, else its share of the machine's."""
    if torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[0])
    return int(psutil.virtual_memory().available) // processes


def _all_memory(processes: int) -> int:
    if torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[1])
    return int(psutil.virtual_memory().total) // processes


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
