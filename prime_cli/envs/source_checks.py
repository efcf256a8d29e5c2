"""What is looked at in the files of a project before they go anywhere."""

from collections.abc import Sequence

from prime_cli.archive.limits import DEFAULT_LIMITS, Limits
from prime_cli.archive.members import Names
from prime_cli.archive.sources import SourceFile
from prime_cli.core.errors import UnsafeContent
from prime_cli.envs.secrets import refuse_secrets

_LEAVE_OUT = "name what does not belong to the environment in .gitignore"


def check_sources(
    files: Sequence[SourceFile],
    *,
    allowed_secrets: Sequence[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Raise UnsafeContent when the files are too many, too large, or hold likely secrets.

    Also where two of them have one name on systems that do not tell upper from lower case.
    """
    if len(files) > limits.members:
        raise UnsafeContent(
            f"There are {len(files)} files to publish, and at most {limits.members} can be",
            hint=f"{_LEAVE_OUT}, or keep data in one file",
        )
    names = Names(limits)
    for file in files:
        names.take(file.path)
    size = sum(file.size for file in files)
    if size > limits.total_bytes:
        largest = max(files, key=lambda file: file.size)
        raise UnsafeContent(
            f"The files to publish hold {size} bytes, and at most {limits.total_bytes} can be"
            f" (the largest is {largest.path})",
            hint=f"{_LEAVE_OUT}, or load data from where it is hosted",
        )
    refuse_secrets(files, allowed=allowed_secrets)
