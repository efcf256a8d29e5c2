"""Released clients of the public hub, unmodified, each in a venv of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import uv

from tests.helpers.cli import Result
from tests.helpers.venvs import python_at_hand, venv_python

_KEPT = ("LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "PIP_CERT", "UV_CACHE_DIR")


@dataclass(frozen=True)
class Release:
    """A release of the client, and the end of the day (UTC) on which it came out.

    Dependencies are taken as of that day, as a user had them: what came later breaks the older
    releases at import, since they name few upper bounds.
    """

    version: str
    as_of: str

    @property
    def script(self) -> Path:
        """The console script; installed on first use."""
        python = venv_python(f"prime=={self.version}", python=_python(), as_of=self.as_of)
        return python.parent / "prime"


OLDEST, MIDDLE, NEWEST = "0.3.46", "0.6.35", "0.18.0"
KNOWN = {
    version: Release(version, f"{day}T23:59:59Z")
    for version, day in {
        OLDEST: "2025-10-08",
        "0.5.82": "2026-05-07",
        MIDDLE: "2026-09-14",
        "0.7.0": "2026-09-18",
        "0.9.5": "2026-10-09",
        "0.14.0": "2026-10-14",
        NEWEST: "2026-10-26",
    }.items()
}
"""By version; the days are those of the upload to the package index."""

_CHOSEN = os.environ.get("PRIME_TEST_OFFICIAL", f"{OLDEST} {MIDDLE} {NEWEST}")
RELEASES = {
    version: release
    for version, release in KNOWN.items()
    if _CHOSEN == "all" or version in _CHOSEN.split()
}
"""Those that journeys are made with: three, or those that PRIME_TEST_OFFICIAL names."""


@dataclass(frozen=True)
class OfficialClient:
    """One user's official client: a release, a home folder, and the variables that it runs with.

    Its standard input is never a terminal; an answer to a prompt goes in as `stdin`. No key of the
    caller's own environment and no proxy reaches it.
    """

    release: Release
    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self,
        *argv: str,
        cwd: Path | None = None,
        variables: Mapping[str, str] | None = None,
        stdin: str = "",
        timeout: float = 300,
    ) -> Result:
        """Run `prime ARGV…` in `cwd` (default: the home folder), with further `variables`.

        `timeout` is in seconds.
        """
        done = subprocess.run(
            [str(self.release.script), *argv],
            cwd=cwd or self.home,
            env={**self.environment, **(variables or {})},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def start(self, *argv: str) -> Iterator["subprocess.Popen[str]"]:
        """The same without waiting; its output can be read as it comes. Ended with the block."""
        with subprocess.Popen(
            [str(self.release.script), *argv],
            cwd=self.home,
            env={**self.environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def environment(self) -> dict[str, str]:
        """Every variable that the client sees."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        folders = [str(Path(uv.find_uv_bin()).parent), os.environ["PATH"]]
        return {
            **kept,
            "PATH": os.pathsep.join(folders),
            "HOME": str(self.home),
            "COLUMNS": "300",  # tables wrap at 80, in the middle of a name
            "NO_COLOR": "1",
            "BROWSER": "true",  # what opens a page: here the command of that name
            "PRIME_DISABLE_VERSION_CHECK": "1",
            "PRIME_TRACES_OPT_OUT": "1",
            **self.variables,
        }


@cache
def _python() -> str:
    """A Python of the time of these releases, else the one that runs the tests."""
    return python_at_hand("3.11") or sys.executable
