"""The time stamped on everything that is built, so that the same sources give the same bytes."""

import time
from collections.abc import Mapping

from prime_cli.core.errors import UsageError

VARIABLE = "SOURCE_DATE_EPOCH"

DEFAULT_EPOCH = 315_532_800
"""1980-01-01 00:00 UTC in seconds: the earliest time that a zip member can carry."""

_LAST_ZIP_TIME = 4_354_819_198
"""2107-12-31 23:59:58 UTC."""


def source_date_epoch(environ: Mapping[str, str]) -> int:
    """`SOURCE_DATE_EPOCH` in seconds (reproducible-builds.org), else a fixed time.

    Times before 1980 are raised to it. Raises UsageError when the value is no whole number.
    """
    text = environ.get(VARIABLE, "").strip()
    if not text:
        return DEFAULT_EPOCH
    if not (text.isascii() and text.isdigit()):
        raise UsageError(
            f"{VARIABLE} is `{text}`, not a whole number of seconds",
            hint=f"unset it, or use `export {VARIABLE}=$(git log -1 --pretty=%ct)`",
        )
    return max(int(text), DEFAULT_EPOCH)


def zip_time(epoch: int) -> tuple[int, int, int, int, int, int]:
    """Seconds since 1970 as a zip member holds them: UTC, down to two seconds, up to 2107."""
    year, month, day, hour, minute, second, *_ = time.gmtime(min(epoch, _LAST_ZIP_TIME))
    return year, month, day, hour, minute, second
