"""Options that several commands share, spelled once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from prime_cli.core.refs import EnvRef
from prime_cli.session import Session


class OutputMode(StrEnum):
    """How data is written to stdout."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"
    JSONL = "jsonl"


_COMMON = "Common options"
"""The heading of shared options, in the help of commands that have many."""
_HOW = "Output format: table, plain (tab-separated, no header), json or jsonl."

OutputOpt = Annotated[
    OutputMode | None,
    typer.Option("--output", "-o", help=_HOW, show_default="table", rich_help_panel=_COMMON),
]

LongOutputOpt = Annotated[
    OutputMode | None,
    typer.Option("--output", help=_HOW, show_default="table", rich_help_panel=_COMMON),
]

"""For commands whose `-o` is something else in the official client or vf-eval."""

QuietOpt = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print data, warnings and errors only.", rich_help_panel=_COMMON
    ),
]

ContextOpt = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="CONTEXT",
        help="The hub to use instead of the current one.",
        rich_help_panel=_COMMON,
    ),
]

OfflineOpt = Annotated[
    bool | None,
    typer.Option(
        "--offline",
        help="Work offline, with local data only.",
        rich_help_panel=_COMMON,
    ),
]

YesOpt = Annotated[
    bool, typer.Option("--yes", "-y", help="Skip confirmation prompts.", rich_help_panel=_COMMON)
]

NoQuestionOpt = Annotated[
    bool,
    typer.Option(
        "--yes", "-y", "--force", "-f", help="Skip confirmation prompts.", rich_help_panel=_COMMON
    ),
]

"""`--yes` where the official client says `--force`."""

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


def open_session(
    ctx: typer.Context,
    *,
    output: OutputMode | None = None,
    quiet: bool = False,
    context: str | None = None,
    offline: bool | None = None,
) -> Session:
    """The session of this invocation, set to what the shared options say."""
    session: Session = ctx.find_root().obj
    session.configure(mode=output, quiet=quiet, context=context, offline=offline)
    return session


PodArg = Annotated[
    str, typer.Argument(metavar="POD", help="Its name, its id or the beginning of that.")
]

LimitOpt = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Rows to show.")]

OffsetOpt = Annotated[int, typer.Option("--offset", min=0, help="Rows to skip.")]
