"""`ssh/config` in prime's home: a block of `Host` lines for each pod that was reached.

```
# pod 3f0c… of https://hub.example.org
Host prime-train 3f0c…
    HostName 192.0.2.10
    …
```
A block goes from its `# pod` line to the next one; other lines are not kept.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.paths import storage_errors

_TITLE = "# Written by prime, which removes pods that ended; ~/.ssh/config includes it.\n"
_BEGINNING = re.compile(r"# pod (?P<pod>[A-Za-z0-9_][A-Za-z0-9._-]*) of (?P<hub>\S+)")


@dataclass(frozen=True)
class Block:
    """What ssh is told of a pod: the `lines` behind the first, without line breaks."""

    pod_id: str
    hub: str
    lines: tuple[str, ...]

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which ssh knows it."""
        return frozenset(
            name for line in self.lines if line.startswith("Host ") for name in line.split()[1:]
        )


def read_blocks(file: Path) -> list[Block]:
    """The blocks of a file, none where it is not there."""
    with storage_errors(file):
        try:
            text = file.read_text(encoding="utf-8", errors="surrogateescape")
        except FileNotFoundError:
            return []
    blocks: list[Block] = []
    for line in text.splitlines():
        if found := _BEGINNING.fullmatch(line):
            blocks.append(Block(found["pod"], found["hub"], ()))
        elif blocks and line.strip():
            last = blocks.pop()
            blocks.append(Block(last.pod_id, last.hub, (*last.lines, line)))
    return blocks


def format_blocks(blocks: Iterable[Block]) -> bytes:
    """The content of a file with these blocks."""
    parts = [
        "\n".join((f"# pod {block.pod_id} of {block.hub}", *block.lines, "")) for block in blocks
    ]
    return "\n".join((_TITLE, *parts)).encode("utf-8", "surrogateescape")
