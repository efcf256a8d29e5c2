"""The command of `--notify`, which learns that a run has ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.formatting import shorten
from prime_cli.core.process import TimedOut, child_environment, run
from prime_cli.core.progress import Progress
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import FAILED
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.summary import Summary

SECONDS = 30.0
"""How long the command may take: it and what it started are killed then."""


class RunNotice(msgspec.Struct, frozen=True):
    """What the command is told: variables, and `summary` as JSON on stdin.

    `path` is the folder, `show` the command of prime that prints the summary too.
    """

    run_id: str
    status: str
    path: str
    summary: Any
    show: str = "eval show"

    def variables(self) -> dict[str, str]:
        """By name."""
        folder = str(Path(self.path).absolute())
        own = {"ID": self.run_id, "STATUS": self.status, "DIR": folder}
        return {f"PRIME_RUN_{name}": value for name, value in own.items()}


def notice_of(summary: Summary) -> RunNotice:
    """That of a run that has ended."""
    return RunNotice(summary.run_id, summary.status, summary.path, summary)


def notice_of_failure(folder: RunFolder) -> RunNotice:
    """That of a run that failed: with what it has by then, or null before it has anything."""
    summary = None
    if folder.manifest.exists():
        summary = open_run(folder.path).summary()
        # A resume that ran nothing has left the status as it was.
        summary = msgspec.structs.replace(summary, status=FAILED)
    return RunNotice(folder.run_id, FAILED, str(folder.path), summary)


def notify(
    command: str, notice: RunNotice, progress: Progress, *, seconds: float = SECONDS
) -> None:
    """Run `command` by `sh -c`, without keys in its variables; a failure of it is a warning."""
    env = child_environment() | notice.variables()
    told = msgspec.json.encode(notice.summary).decode()
    try:
        done = run(["sh", "-c", command], input=told, env=env, timeout=seconds)
    except TimedOut:
        problem = f"took longer than {seconds:g} seconds, and was stopped"
    except OSError as error:
        problem = f"could not be run: {error}"
    else:
        if done.ok:
            return
        last = shorten(done.last_lines(1))
        problem = f"ended with exit code {done.code}" + (f": {last}" if last else "")
    progress.warn(
        f"The command of `--notify` {problem}",
        hint=f"try it by hand: `prime {notice.show} {notice.run_id} --output json | COMMAND`",
    )


@contextmanager
def telling_failure(
    command: str | None, notice: Callable[[RunFolder], RunNotice], progress: Progress
) -> Iterator[list[RunFolder]]:
    """While open, tell `command` of a failure of the run whose folder is put into the list."""
    started: list[RunFolder] = []
    try:
        yield started
    except Exception:
        # What was refused before has not run.
        if command and started:
            notify(command, notice(started[0]), progress)
        raise
