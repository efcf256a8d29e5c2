"""Transcripts: a text file that shows what a user types and what the terminal answers.

```
# a comment
=== notes/pyproject.toml        a file that is there before the first command
[project]
name = "notes"
===                             its end
$ cd notes                      the folder of the commands that follow
$ export PRIME_OWNER=bob        a variable for the commands that follow
$ prime env build               a command; below it what stdout and stderr say, together
Built [..].whl
...
[exit 2]                        its exit code, when that is not 0
```

$MODEL_PORT, in files and commands, is the port of a model server that echoes, and refuses the key
`wrong-key`. `[..]` stands for
anything within a line, a line `...` for any lines, and a gap between columns for a gap of any
width. Only `prime` is run. Of a Markdown page, the blocks fenced as ```console are the transcript.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_EXIT = re.compile(r"\[exit (\d+)\]")


@dataclass
class Step:
    """One typed line and what is expected below it."""

    line: int
    command: list[str]
    expected: list[str] = field(default_factory=list)
    code: int = 0


@dataclass
class Script:
    """A transcript, read."""

    path: Path
    files: dict[str, str]
    steps: list[Step]


def read_script(path: Path) -> Script:
    """Parse a transcript; raises ValueError for a line that belongs to nothing."""
    script = Script(path, {}, [])
    text = path.read_text(encoding="utf-8")
    lines: Iterator[tuple[int, str]] = enumerate(text.splitlines(), start=1)
    if path.suffix == ".md":
        lines = _console(lines)
    for number, line in lines:
        if line.startswith("=== "):
            script.files[line[4:].split()[0]] = "".join(_until_end(lines))
        elif line.startswith("$ "):
            script.steps.append(Step(number, shlex.split(line[2:])))
        elif script.steps and (match := _EXIT.fullmatch(line)):
            script.steps[-1].code = int(match[1])
        elif not line.startswith("#"):
            _expect(script, number, line)
    return script


def _console(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in lines:
        if line.startswith("```"):
            inside = line == "```console"
        elif inside:
            yield number, line


def _until_end(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == "===":
            return
        yield f"{line}\n"


def _expect(script: Script, number: int, line: str) -> None:
    if script.steps:
        script.steps[-1].expected.append(line.rstrip())
    elif line.strip():
        raise ValueError(f"{script.path.name}:{number}: no command above `{line}`")


def matches(expected: list[str], said: list[str]) -> bool:
    """Whether what was said is what was expected, with `[..]` and `...` as wildcards."""
    pattern = "".join(_line_pattern(line) for line in _stripped(expected))
    text = "".join(f"{line.rstrip()}\n" for line in _stripped(said))
    return re.fullmatch(pattern, text) is not None


def _line_pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    parts = (re.escape(part) for part in line.rstrip().split("[..]"))
    return re.sub(r"(?:\\ ){2,}", " {2,}", r"[^\n]*".join(parts)) + r"\n"


def _stripped(lines: list[str]) -> list[str]:
    """Without the blank lines at both ends."""
    return "\n".join(lines).strip("\n").split("\n") if any(lines) else []
