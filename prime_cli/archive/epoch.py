"""The time stamped on everything that is built, so that the same sources give the same bytes."""

from collections.abc import Mapping

from prime_cli.core.errors import UsageError

VARIABLE = "SOURCE_DATE_EPOCH"

DEFAULT_EPOCH = 315_532_800
"""1980-01-01 00:00 UTC in seconds: the earliest time that a zip member can carry."""


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
