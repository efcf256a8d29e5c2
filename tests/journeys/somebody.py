"""A person with an empty home who types commands, and what is left of it all."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.cli import COMMAND, Result, prime_process
from tests.helpers.tools import require


def require_ssh() -> None:
    """Skip, or fail on CI, where a program of OpenSSH is missing."""
    require("sshd", "/usr/sbin/sshd")
    for program in ("ssh", "scp", "ssh-keygen"):
        require(program)


@dataclass(frozen=True)
class Somebody:
    """Commands run in `home`, which is also their HOME, with these `variables` and no others."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)

    def prime(self, *argv: str, stdin: str | None = None) -> Result:
        """Run `prime ARGV…` and wait for its end."""
        return prime_process(*argv, cwd=self.home, env=self.environment, stdin=stdin, timeout=300)

    def start(self, *argv: str) -> "subprocess.Popen[bytes]":
        """The same without waiting, in a group of its own, to be killed."""
        return subprocess.Popen(
            [*COMMAND, *argv],
            cwd=self.home,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def environment(self) -> dict[str, str]:
        """What is added to the test's own variables, which are few."""
        folders = {"HOME": str(self.home), "PRIME_HOME": str(self.home / ".prime")}
        return {**folders, **self.variables}

    @property
    def pods_folder(self) -> Path:
        """Where pods of the hub in the box are."""
        return self.home / ".prime" / "hub" / "pods"

    @property
    def aliases(self) -> str:
        """What ssh is told of pods."""
        path = self.home / ".prime" / "ssh" / "config"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def known_hosts(self) -> list[str]:
        """The pods of which host keys are kept."""
        folder = self.home / ".prime" / "ssh" / "known_hosts"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def processes_of(folder: Path) -> Iterator[str]:
    """Command lines of running processes that name what is in `folder`, or are there (Linux)."""
    place = f"{folder}/"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = str((process / "cwd").readlink())
        except OSError:  # it has ended meanwhile
            continue
        if words and (place in words or f"{where}/".startswith(place)):
            yield f"{process.name}: {words}"


def pods_left(folder: Path) -> list[str]:
    """Folders of pods, finished or not; disks are no pods."""
    if not folder.exists():
        return []
    inside = (path for path in folder.iterdir() if path.is_dir())
    return sorted(path.name for path in inside if path.name != "disks")
