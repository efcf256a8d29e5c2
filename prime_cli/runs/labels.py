"""What a run is known by beside its plan: tags, a note, and the commit of its code."""

import os
import re
from pathlib import Path

import msgspec

from prime_cli.core.errors import UsageError
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
        status = run(command, cwd=folder, env=env, timeout=_SECONDS)
    except (OSError, TimedOut):
        return None
    commit = _COMMIT.search(status.out)
    if not status.ok or commit is None:
        return None
    return Revision(commit[1], any(not line.startswith("#") for line in status.out.splitlines()))


_LONGEST_TAG = 64
_LONGEST_NOTE = 2000


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """Tags and a note that a person gave, and the commit that the code was at."""

    tags: tuple[str, ...] = ()
    note: str | None = None
    revision: Revision | None = None

    def over(self, before: "Labels") -> "Labels":
        """These for a run that goes on: tags add up, the first commit stays."""
        return Labels(
            tags=tuple(dict.fromkeys((*before.tags, *self.tags))),
            note=before.note if self.note is None else self.note,
            revision=before.revision or self.revision,
        )


UNLABELLED = Labels()


def check_labels(tags: tuple[str, ...], note: str | None) -> None:
    """Raise UsageError for tags and notes that nobody could read."""
    for tag in tags:
        if len(tag) > _LONGEST_TAG or not tag.isprintable():
            raise UsageError(
                f"`--tag` must be a word of at most {_LONGEST_TAG} characters, not {tag[:80]!r}"
            )
    if note is not None and len(note) > _LONGEST_NOTE:
        raise UsageError(f"`--note` can have at most {_LONGEST_NOTE:,} characters")
