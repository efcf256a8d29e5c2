"""Any exception as the failure that is told to the user."""

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from prime_cli.core.errors import InternalError, PrimeError, StorageFailed
from prime_cli.core.paths import prime_home, storage_failure, write_atomically


def as_failure(error: Exception) -> PrimeError:
    """`error` itself if it is ours; a StorageFailed for the disk; else a bug of ours.

    The traceback of a bug goes to a file in prime's home, or, with PRIME_DEBUG=1, to stderr
    together with that of any other failure.
    """
    debug = os.environ.get("PRIME_DEBUG") == "1"
    detail = "".join(traceback.format_exception(error)) if debug else None
    if isinstance(error, PrimeError):
        error.detail = detail or error.detail
        return error
    if isinstance(error, OSError) and error.filename is not None:
        failure = storage_failure(Path(os.fsdecode(error.filename)), error)
        failure.detail = detail
        return failure
    return InternalError(
        f"This is a bug in prime: {type(error).__name__}: {error}",
        hint=None if debug else _report(error),
        detail=detail,
    )


def _report(error: Exception) -> str:
    """Write the traceback to a file, and say where it is."""
    path = prime_home() / "bugs" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.txt"
    try:
        write_atomically(path, "".join(traceback.format_exception(error)).encode())
    except StorageFailed:
        return "run the same command with PRIME_DEBUG=1 to see where it comes from"
    return f"please report it with the traceback in {path}"
