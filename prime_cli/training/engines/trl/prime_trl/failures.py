"""Why a training ends early, as prime tells it."""

import errno
import signal

import torch

_OUT_OF_MEMORY = "use less: fewer prompts (`--batch`), fewer tokens (`-t`), or `--lora 16`"
_FULL = (
    *("No space left", "os error 28", "File too large", "os error 27"),
    *("file write failed", "unexpected pos"),  # torch's writer of files
)

_CANNOT_ALLOCATE = "DefaultCPUAllocator: can't allocate memory"
"""Torch raises a plain RuntimeError where the machine's memory is full."""
_SHARE = (
    "give it more with `--set vllm_gpu_memory_utilization=0.5`, or a shorter context with "
    "`--set vllm_max_model_length=4096`, or omit it with `--no-vllm`"
)


class Stopped(Exception):
    """A reason to end; `code` is one of prime's errors, which decides the exit code."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def not_loaded(error: BaseException) -> Stopped:
    """Why a training ends whose model is not there, or is none."""
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return Stopped(
        "not_found",
        f"The model cannot be loaded: {first}",
        "`-m` takes a name on Hugging Face, or a folder that `save_pretrained` wrote; private ones "
        "need `HF_TOKEN`",
    )


def killed_process(number: int, count: int, code: int) -> Stopped:
    """Why a training ends whose process `number` of `count` ended without a word."""
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    if how == "SIGKILL":
        how += ", perhaps out of memory"
    message = f"Process {number} of the {count} that train was ended ({how})"
    return Stopped("engine_failed", message, f"{_OUT_OF_MEMORY}; then `prime train --resume`")


def not_finite(what: str, done: int) -> Stopped:
    """Why a training ends in the step after so many `done`, whose loss or gradient is no number."""
    return Stopped(
        "gate_failed",
        f"The {what} of step {done + 1} is not finite; the step was not applied",
        "use a smaller `--lr`",
    )


def reason_of(error: BaseException) -> Stopped | None:
    """What prime shall say about `error`; None for what only its traceback tells."""
    if isinstance(error, Stopped):
        return error
    if isinstance(error, torch.OutOfMemoryError):
        return Stopped("engine_failed", "The memory of the GPU is full", _OUT_OF_MEMORY)
    if isinstance(error, MemoryError) or _CANNOT_ALLOCATE in str(error):
        return Stopped("engine_failed", "The memory of this machine is full", _OUT_OF_MEMORY)
    if isinstance(error, ValueError) and "gpu_memory_utilization" in str(error):
        first = str(error).strip().partition("\n")[0]
        return Stopped("engine_failed", f"vLLM has too little memory: {first}", _SHARE)
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    # safetensors and torch have errors of their own for it.
    if full or any(words in str(error) for words in _FULL):
        why = (isinstance(error, OSError) and error.strerror) or "no room is left for it"
        return Stopped(
            "storage_failed",
            f"The training cannot write its weights: {why}",
            "make room, or keep fewer with `--keep-checkpoints`; then `prime train --resume`",
        )
    return None
