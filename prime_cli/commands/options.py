"""Options that several commands share, spelled once."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from prime_cli.core.options import Option, OptionField
from prime_cli.core.refs import EnvRef
from prime_cli.session import Session

Function = TypeVar("Function", bound=Callable[..., None])


class OutputMode(StrEnum):
    """How data is written to stdout."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"


_COMMON = "Common options"
"""The heading of common options, in the help of commands that have many."""
_FORMATS = "Output format: table, plain (tab-separated, no header), json or jsonl."
_NO_PROMPTS = "Skip confirmation prompts."


def _common(name: str, kind: Any, default: Any, text: str, *names: str, **more: Any) -> OptionField:
    return OptionField(name, kind, default, Option(text, names, panel=_COMMON, **more))


OUTPUT = _common(
    "output", OutputMode | None, None, _FORMATS, "--output", "-o", show_default="table"
)

LONG_OUTPUT = _common("output", OutputMode | None, None, _FORMATS, "--output", show_default="table")
"""For commands whose `-o` is something else in the official client or vf-eval."""

QUIET = _common("quiet", bool, False, "Print data, warnings and errors only.", "--quiet", "-q")

CONTEXT = _common(
    "context",
    str | None,
    None,
    "The hub to use instead of the current one.",
    "--context",
    metavar="CONTEXT",
)

OFFLINE = _common("offline", bool | None, None, "Work offline, with local data only.", "--offline")

YES = _common("yes", bool, False, _NO_PROMPTS, "--yes", "-y")

YES_OR_FORCE = _common("yes", bool, False, _NO_PROMPTS, "--yes", "-y", "--force", "-f")
"""`--yes` where the official client says `--force`."""


def common_options(*options: OptionField | str) -> Callable[[Function], Function]:
    """Give a command these options, last in its help; `open_session` reads what was given.

    A string is the name of an own parameter of the command that comes among them.
    """

    def mark(function: Function) -> Function:
        function.common_options = options  # type: ignore[attr-defined]
        return function

    return mark


def local_options(*others: OptionField | str) -> Callable[[Function], Function]:
    """The common options of a command that asks no hub, after `others`."""
    return common_options(*others, OUTPUT, QUIET)


def hub_options(*others: OptionField | str) -> Callable[[Function], Function]:
    """The common options of a command that asks a hub, after `others`."""
    return common_options(*others, OUTPUT, QUIET, CONTEXT, OFFLINE)


def panel_order(*titles: str) -> Callable[[Function], Function]:
    """List the options of a command below these headings first, in this order."""

    def mark(function: Function) -> Function:
        function.panel_order = titles  # type: ignore[attr-defined]
        return function

    return mark


def open_session(ctx: typer.Context) -> Session:
    """The session of this invocation, set to what its common options say."""
    session: Session = ctx.find_root().obj
    given = ctx.params
    session.configure(
        mode=given.get("output"),
        quiet=given.get("quiet", False),
        context=given.get("context"),
        offline=given.get("offline"),
        yes=given.get("yes", False),
    )
    return session


ForceOpt = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

DryRunOpt = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done without doing it.")
]

PythonOpt = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PYTHON",
        help="A Python version or interpreter to use.",
        rich_help_panel="Environment",
    ),
]

VersionOpt = Annotated[
    str | None, typer.Option("--version", "-v", help="The version, if not after @.")
]

PathOpt = Annotated[
    Path,
    typer.Option(
        "--path", "-p", metavar="FOLDER", help="The environment's folder.", show_default="."
    ),
]


def at_version(ref: EnvRef, version: str | None) -> EnvRef:
    """`ref` at what `--version` says, unless the version is in the ref already."""
    return ref if ref.version or version in (None, "latest") else ref.at(version)


PodArg = Annotated[
    str, typer.Argument(metavar="POD", help="Its name, its id or the beginning of that.")
]


@dataclass(frozen=True)
class Page:
    """Which rows of a list to show."""

    limit: Annotated[int, Option("Rows to show.", least=1, most=1000)] = 100
    offset: Annotated[int, Option("Rows to skip.", least=0)] = 0
