"""`prime config import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prime_cli.commands.context.places import settings_of_file
from prime_cli.commands.options import (
    DryRunOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.credentials import Storage
from prime_cli.core.errors import NotFound
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.accounts.official_import import ContextImport, ImportPlan


def import_(
    ctx: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="The official config.json, or its folder.",
            show_default="~/.prime/config.json",
        ),
    ] = None,
    storage: Annotated[
        Storage | None,
        typer.Option("--storage", help="Where to keep the keys.", show_default="as set, or auto"),
    ] = None,
    dry_run: DryRunOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """Take over contexts and keys of the official client.

    Its files are read and never changed. What is set here already stays as it is: a context of
    the same name, its team, a key. The client's current context becomes the current one if none
    has been chosen here.

    \b
    Example:
      prime config import --dry-run
      prime config import ~/old-home/.prime

    See also: `prime login`, `prime context list`, `prime config show`.
    """
    from prime_cli.accounts.official_import import plan_import, read_official, run_import

    session = open_session(ctx, output=output, quiet=quiet)
    config = settings_of_file()
    plan = plan_import(read_official(path or _official_file()), config)
    _show(session, plan, dry_run=dry_run)
    if dry_run:
        session.output.done("Nothing was written; without `--dry-run` it would be taken")
        return
    kept = run_import(plan, config, storage or Storage(config.storage.value))
    session.output.done(f"Took over what {plan.file} has")
    if kept:
        session.output.say(kept.sentence)


def _official_file() -> Path:
    try:
        return Path.home() / ".prime" / "config.json"
    except RuntimeError as error:
        raise NotFound("There is no home folder to look in", hint="name the file") from error


def _show(session: Session, plan: "ImportPlan", *, dry_run: bool) -> None:
    records = [
        {
            "name": each.name,
            "hub": each.hub,
            "team": each.team,
            "key": each.key.value,
            "current": each.name == plan.current,
            "refused": each.refused,
        }
        for each in plan.imports
    ]
    session.output.table(
        ["Context", "Hub", "Team", "Key", ""],
        [
            [each.name, each.hub, each.team or "", each.key.value, _remark(each, plan.current)]
            for each in plan.imports
        ],
        records=records,
        page={"source": plan.file, "dry_run": dry_run, "contexts": records},
    )


def _remark(each: "ContextImport", current: str | None) -> str:
    if each.refused:
        return f"left out: {each.refused}"
    return "becomes the current one" if each.name == current else ""
