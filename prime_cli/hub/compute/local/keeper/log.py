"""The log of a pod: lines with their time, and never more than two files of them."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

MOST_BYTES = 512 * 1024


class Log:
    """Appends to `path`; when that is full it becomes `path.1`, and what was there is gone."""

    def __init__(self, path: Path, most: int = MOST_BYTES) -> None:
        self.path = path
        self._most = most

    def add(self, line: str) -> None:
        """One line; what would move a terminal is shown as an escape."""
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line.rstrip("\r\n"))
        # A pod does not end because its disk is full, and a line is not there.
        with suppress(OSError):
            if self.path.exists() and self.path.stat().st_size > self._most:
                self.path.replace(older(self.path))
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(f"{moment} {shown}\n")


def older(path: Path) -> Path:
    """Where the lines before those of `path` are."""
    return path.with_name(f"{path.name}.1")


def last_lines(path: Path, count: int) -> str:
    """The last `count` lines of a log, of both files."""
    lines: list[str] = []
    for file in (older(path), path):
        if file.is_file():
            lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-count:]) if count > 0 else ""
