"""Which commit the code of a run was at."""

import os
import re
from pathlib import Path

import msgspec

from prime_cli.core.process import TimedOut, child_environment, run

_SECONDS = 10.0
_COMMIT = re.compile(r"^# branch\.oid ([0-9a-f]{7,64})$", re.MULTILINE)
# Not what runs leave behind: after the first one every folder would be changed.
_PATHS = (":/", ":(top,exclude,glob)**/outputs/**")


class Revision(msgspec.Struct, frozen=True):
    """A git commit; `dirty` says that files differed from it, new ones included."""

    commit: str
    dirty: bool = False

    def __str__(self) -> str:
        return self.commit[:12] + (", with changes" if self.dirty else "")


def revision_of(folder: Path) -> Revision | None:
    """The commit of the repository that `folder` is in; None without one, or without git."""
    options = ("--porcelain=v2", "--branch", "--untracked-files=all")
    # fsmonitor names a program of the repository's own choice, which looking shall not start.
    command = ("git", "-c", "core.fsmonitor=false", "status", *options, "--", *_PATHS)
    env = child_environment(os.environ) | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        told = run(command, cwd=folder, env=env, timeout=_SECONDS)
    except (OSError, TimedOut):
        return None
    commit = _COMMIT.search(told.out)
    if not told.ok or commit is None:
        return None
    return Revision(commit[1], any(not line.startswith("#") for line in told.out.splitlines()))
