"""Why a training ends early, as prime tells it."""

import errno

import torch

_OUT_OF_MEMORY = "use less: fewer prompts (`--batch`), fewer tokens (`-t`), or `--lora 16`"


class Stopped(Exception):
    """A reason to end; `code` is one of prime's errors, which decides the exit code."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def reason_of(error: BaseException) -> Stopped | None:
    """What prime shall say about `error`; None for what only its traceback tells."""
    if isinstance(error, Stopped):
        return error
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return Stopped("engine_failed", "The engine is out of memory", _OUT_OF_MEMORY)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Stopped("storage_failed", f"A checkpoint cannot be written: {error.strerror}")
    return None
