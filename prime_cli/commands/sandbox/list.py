"""`prime sandbox list`, `get` and `logs`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.options import hub_options, open_session
from prime_cli.commands.pods.tables import short_ids
from prime_cli.commands.sandbox.lookup import (
    ListedSandbox,
    SandboxArg,
    SandboxDetails,
    describe_reach,
    detailed,
    find_sandbox,
    left_text,
    listed,
    size_text,
)
from prime_cli.core.errors import UsageError
from prime_cli.wire.sandboxes import STATUSES, Sandbox, SandboxLogs, SandboxQuery

_COLUMNS = ("Id", "Name", "Image", "Status", "Left", "Size", "Labels", "Created")


class ListedSandboxes(msgspec.Struct, frozen=True):
    """A page of sandboxes; pages count from 1."""

    sandboxes: list[ListedSandbox]
    total: int
    page: int
    per_page: int
    has_next: bool


@hub_options(answer=ListedSandboxes, record=ListedSandbox)
def list_(
    ctx: typer.Context,
    *,
    team_id: Annotated[
        str | None, typer.Option("--team-id", metavar="ID", help="Only the sandboxes of this team.")
    ] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only with this status.")
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="LABEL", help="Only with this label; repeatable."),
    ] = None,
    page: Annotated[int, typer.Option("--page", "-p", min=1, help="Page number.")] = 1,
    num: Annotated[int, typer.Option("--num", "-n", min=1, max=1000, help="Rows on a page.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="Include ended ones.")] = False,
) -> None:
    """List your sandboxes.

    Those of a run have the label `prime-run:RUN`.

    \b
    Example:
      prime sandbox list
      prime sandbox list --label prime-run:1f2e3d4c --output json
    \b
    See also: `prime sandbox get`, `prime sandbox delete`.
    """
    session = open_session(ctx)
    if status is not None and status.upper() not in STATUSES:
        raise UsageError(f"`--status {status}` is not one of {', '.join(STATUSES)}")
    query = SandboxQuery(
        page=page,
        per_page=num,
        team_id=team_id,
        status=status,
        labels=tuple(labels or ()),
        is_active=not everything and status is None,
    )
    found = session.hub.sandboxes.page(query)
    ids = [each.id for each in found.sandboxes]
    short = ids if session.output.mode == "plain" else short_ids(ids)
    rows = [_row(each, name) for each, name in zip(found.sandboxes, short, strict=True)]
    records = [listed(each) for each in found.sandboxes]
    whole = ListedSandboxes(records, found.total, found.page, found.per_page, found.has_next)
    session.output.table(_COLUMNS, rows, records=records, page=whole)
    if found.has_next:
        session.output.hint(f"more with `--page {page + 1}`")
    elif not rows:
        session.output.hint("create one with `prime sandbox create`")


def _row(sandbox: Sandbox, shown_id: str) -> list[str]:
    return [
        shown_id,
        sandbox.name,
        sandbox.docker_image,
        sandbox.status,
        left_text(sandbox),
        size_text(sandbox),
        ", ".join(sandbox.labels) or "-",
        sandbox.created_at,
    ]


@hub_options(answer=SandboxDetails)
def get(ctx: typer.Context, sandbox: SandboxArg) -> None:
    """Show a sandbox and its limits.

    The limits are what the system reports after the start, not what was asked for.

    \b
    Example:
      prime sandbox get 1f2e3d4c
      prime sandbox get 1f2e3d4c --output json
    \b
    See also: `prime sandbox list`, `prime sandbox logs`.
    """
    session = open_session(ctx)
    found = find_sandbox(session.hub, sandbox)
    record = detailed(found)
    session.output.show(record, lines=_lines(found))


_LABELS = {"cpu": "CPU"}
"""Of what holds it, where it is not the subject itself."""


def _lines(sandbox: Sandbox) -> list[tuple[str, str]]:
    facts = {f"{name}": str(value) for name, value in (sandbox.advanced_configs or {}).items()}
    lines = {
        "Id": sandbox.id,
        "Name": sandbox.name,
        "Image": sandbox.docker_image,
        "Status": sandbox.status,
        "Error": sandbox.error_message or "",
        "Ended": sandbox.termination_reason or "",
        "Exit code": "" if sandbox.exit_code is None else str(sandbox.exit_code),
        "Requested": f"{size_text(sandbox)}, {sandbox.disk_size_gb:g} GB of disk",
        "Network": describe_reach(sandbox.network_allowlist, sandbox.network_denylist),
        "Left": left_text(sandbox),
        "Labels": ", ".join(sandbox.labels),
        "Created": sandbox.created_at,
        **{_LABELS.get(name, name.capitalize()): value for name, value in facts.items()},
    }
    return [(label, text) for label, text in lines.items() if text]


@hub_options(answer=SandboxLogs)
def logs(ctx: typer.Context, sandbox: SandboxArg) -> None:
    """Print the output of a sandbox's start command.

    Commands of `prime sandbox run` print theirs where they were typed.

    \b
    Example:
      prime sandbox logs 1f2e3d4c
    \b
    See also: `prime sandbox get`, `prime sandbox run`.
    """
    session = open_session(ctx)
    found = find_sandbox(session.hub, sandbox)
    text = session.hub.sandboxes.logs(found.id)
    session.output.text(text, record=SandboxLogs(text))
