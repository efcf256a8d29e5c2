"""Whether `--sandbox` can be had here."""

import sys
import tempfile
from pathlib import Path

from prime_cli.checks.findings import Finding, ok, skipped, warned
from prime_cli.checks.place import Place
from prime_cli.core.errors import UsageError
from prime_cli.runtime.sandbox import find_sandbox

NAME = "sandbox"


def examine(_place: Place) -> list[Finding]:
    """Tried, not guessed: a program is run within. A warning, since `--sandbox` alone needs it."""
    if sys.platform != "linux":
        return [skipped(NAME, "`--sandbox` exists for Linux alone")]
    try:
        found = find_sandbox(Path(tempfile.gettempdir()), network=False)
    except UsageError as error:
        return [warned(NAME, error.message, error.hint or "install bubblewrap")]
    return [ok(NAME, f"{found.program} works")]
