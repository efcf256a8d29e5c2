"""Any exception as the error that the user sees."""

import os
import re
import traceback
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from prime_cli.core.errors import InternalError, PrimeError, StorageFailed
from prime_cli.core.paths import home_path, prime_home, storage_failure, write_atomically

_PASSWORD = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
_BEARER = re.compile(r"(?<=\bBearer )[\w.~+/=-]+")
"""Whatever a header or an address held, known or not."""


def as_failure(error: Exception, keys: Iterable[str] = ()) -> PrimeError:
    """`error` itself if it is ours; a StorageFailed for the disk; else a bug of ours.

    The traceback of a bug goes to a file in prime's home, or, with PRIME_DEBUG=1, to stderr
    together with that of any other failure. Neither has a value of a local variable, and from
    both, and from what the failure says, `keys` and those of the environment are taken out.
    """
    scrub = _scrubber(keys)
    failure = _to_prime_error(error, scrub)
    failure.message = scrub(failure.message)
    failure.hint = failure.hint and scrub(failure.hint)
    failure.detail = failure.detail and scrub(failure.detail)
    return failure


def _to_prime_error(error: Exception, scrub: Callable[[str], str]) -> PrimeError:
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
        hint=None if debug else _report(error, scrub),
        detail=detail,
    )


def _report(error: Exception, scrub: Callable[[str], str]) -> str:
    """Write the traceback to a file, and say where it is."""
    try:
        path = home_path(prime_home(), "bugs") / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.txt"
        text = scrub("".join(traceback.format_exception(error)))
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
    except StorageFailed:
        return "run the same command with PRIME_DEBUG=1 for a traceback"
    return f"please report it with the traceback in {path}"


def _scrubber(keys: Iterable[str]) -> Callable[[str], str]:
    """What takes `keys` and those of the environment out of a text."""
    from prime_cli.core.secret_detection import find_secrets
    from prime_cli.runs.scrubber import Scrubber

    known = {f"key {number}": key for number, key in enumerate(keys, start=1)}
    scrubber = Scrubber(find_secrets(os.environ) | known)
    return lambda text: _BEARER.sub("[key]", _PASSWORD.sub("[password]", scrubber.text(text)))
