"""Call `prime` as a user does: in this process, or as a process of its own."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prime_cli.main import main
from prime_cli.session import Session
from tests.helpers.contracts import check_contract

COMMAND = (sys.executable, "-c", "from prime_cli.main import run; run()")
"""The console script, without depending on where it was installed."""


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as one JSON document."""
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def ok(self) -> "Result":
        """This result, once its exit code is known to be 0."""
        assert self.code == 0, f"exit {self.code}\n{self.out}\n{self.err}"
        return self


class Prime:
    """`prime("env", "list", cwd=folder)` through `main`, with the output captured.

    `stdin` is what a command can read; without it the process's own.
    """

    def __init__(
        self,
        capture: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        make_session: Callable[[], Session],
    ) -> None:
        self._capture = capture
        self._monkeypatch = monkeypatch
        self.make_session = make_session

    def __call__(
        self,
        *argv: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> Result:
        with self._monkeypatch.context() as patch:
            if stdin is not None:
                piped = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
                patch.setattr("sys.stdin", piped)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            if cwd:
                patch.chdir(cwd)
            self._capture.readouterr()
            code = main(argv, self.make_session())
        out, err = self._capture.readouterr()
        check_contract(argv, code, out)
        return Result(code, out, err)


def prime_process(
    *argv: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float = 300,
    merged: bool = False,
) -> Result:
    """Run `prime` as a process; `env` is added to the test's own.

    `merged` puts stderr into `out`, in the order in which a terminal would show both.
    """
    done = subprocess.run(
        [*COMMAND, *argv],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin or "",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )
    if not merged:
        check_contract(argv, done.returncode, done.stdout)
    return Result(done.returncode, done.stdout, done.stderr or "")
