"""Parsers of flags: JSON objects, names, time spans, variables."""

import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_range, parse_duration
from prime_cli.core.paths import storage_errors
from prime_cli.runs.plan import Shard


def parse_object(text: str | None, flag: str) -> dict[str, Any] | None:
    """The JSON object of `flag`, None if it was not set.

    Raises UsageError that names the flag and, for broken JSON, the character where it breaks.
    """
    if text is None:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"`{flag}` is not JSON: {error.msg} at character {error.pos + 1} of `{text}`",
            hint=f"quote it for the shell: {_example(flag)}",
        ) from error
    if not isinstance(value, dict):
        raise UsageError(
            f"`{flag}` must be a JSON object and is {_KINDS[type(value)]}",
            hint=f"write it as in {_example(flag)}",
        )
    return value


def _example(flag: str) -> str:
    short, _, _ = flag.partition("/")
    return f'`{short} \'{{"key": "value"}}\'`'


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}


def parse_names(values: list[str]) -> tuple[str, ...]:
    """Names from a repeatable flag that also takes a comma-separated list, as vf-eval's `-C`."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def parse_requirements(values: Iterable[str]) -> tuple[str, ...]:
    """Requirements of PEP 508 from a repeatable flag; raises UsageError."""
    return tuple(sorted({_requirement(value) for value in values}))


def _requirement(text: str) -> str:
    # 14 ms, which only a run with such a flag pays.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        raise UsageError(
            f"`{text}` is not a requirement",
            hint="write a package and perhaps its version: `--with nltk` or `--with 'nltk>=3.9'`",
        ) from error


def parse_span(text: str, flag: str) -> int:
    """Seconds of `90s`, `30m`, `2h`, or of plain seconds as vf-eval has them.

    Raises UsageError that names the flag.
    """
    try:
        seconds = parse_duration(f"{text}s" if text.strip().isdigit() else text)
    except UsageError as error:
        raise UsageError(f"`{flag}`: {error.message}", hint=error.hint) from error
    if seconds < 1:
        raise UsageError(f"`{flag} {text}` must be at least one second")
    return seconds


_SPAN = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
MOST_EXAMPLES = 1_000_000


def parse_examples(text: str) -> str:
    """The numbers in `3,7,10-20` in order, each once, written as short as can be.

    Raises UsageError for what is no number or span of numbers, or above MOST_EXAMPLES.
    """
    spans: list[tuple[int, int]] = []
    for part in text.split(","):
        match = _SPAN.fullmatch(part.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high < MOST_EXAMPLES:
            raise UsageError(
                f"`--examples {text}` has no list of examples: `{part.strip()}`",
                hint="pass their numbers, counting from 0, as in `--examples 3,7,10-20`",
            )
        spans.append((low, high))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return ",".join(format_range(*span) for span in merged)


AUTO = "auto"
"""The `--shard` that the engine's array index decides."""


def parse_shard(text: str) -> str:
    """`I/N`, counting from 1, or AUTO; raises UsageError."""
    return text if text == AUTO else str(Shard.read(text))


NO_RAY = "none"
"""The `--ray` of a run that goes on without the cluster of its plan."""


def parse_ray(text: str) -> str:
    """`HOST:PORT`, AUTO or NO_RAY; raises UsageError."""
    if "://" in text or (text not in (AUTO, NO_RAY) and not re.fullmatch(r"[^\s:]+:\d+", text)):
        raise UsageError(
            f"`--ray {text}` is not HOST:PORT, `{AUTO}` or `{NO_RAY}`",
            hint="run prime on a machine of the cluster: `--ray auto`",
        )
    return text


SANDBOX_PROVIDERS = ("local", "prime", "none")


def parse_sandbox_provider(text: str) -> str:
    """One of SANDBOX_PROVIDERS; raises UsageError."""
    if text not in SANDBOX_PROVIDERS:
        raise UsageError(
            f"`--sandbox-provider {text}` is not one of {', '.join(SANDBOX_PROVIDERS)}",
            hint="`local` is this machine, `prime` Prime's cloud, which costs money",
        )
    return text


def parse_folder(text: str) -> str:
    """A folder, spelled in one way, so that a resume finds it the same."""
    return str(Path(text).expanduser())


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class GivenVariables:
    """The `names` that the environment may read, and `values` for those with one."""

    names: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)


def given_variables(words: Iterable[str], file: Path | None = None) -> GivenVariables:
    """Read `--env-var NAME,…`, `--env-var NAME=VALUE` and `--env-file FILE`; `words` win.

    Raises UsageError for invalid names, NotFound and StorageFailed for the file.
    """
    found = {} if file is None else read_env_file(file)
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            found[_checked(name.strip(), "--env-var")] = value
        else:
            found.update((_checked(each, "--env-var"), None) for each in parse_names([word]))
    values = {name: value for name, value in found.items() if value is not None}
    return GivenVariables(tuple(found), values)


def with_always_allowed(
    named: tuple[str, ...], allowed: Iterable[str], environ: Mapping[str, str]
) -> tuple[str, ...]:
    """`named`, and those of `allowed` (by config.toml) that are set in `environ`."""
    return tuple(dict.fromkeys((*named, *(name for name in allowed if name in environ))))


def read_env_file(path: Path) -> dict[str, str | None]:
    """The assignments of a .env file; None for a name alone, which passes the variable set here.

    Raises NotFound, StorageFailed, and UsageError with the invalid line.
    """
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    if not path.is_file():
        raise NotFound(f"There is no file {path}", hint="pass a file with lines `NAME=VALUE`")
    with storage_errors(path):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text") from error
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            raise UsageError(f"{path} has no assignment in line {binding.original.line}")
        if binding.key is not None:
            _checked(binding.key, str(path))
    return dict(dotenv_values(stream=io.StringIO(text)))


def _checked(name: str, source: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{source}` does not name a variable",
            hint="write `NAME` or `NAME=VALUE`, the name with letters, digits and `_`",
        )
    return name
