"""`prime sandbox delete`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.commands.sandbox.lookup import ids_of
from prime_cli.core.errors import EnvironmentFailed, ExitCode, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.session import Session
from prime_cli.wire.sandboxes import (
    MOST_AT_ONCE,
    NotDeleted,
    SandboxDeletion,
    SandboxesDeleted,
    SandboxQuery,
)


class DeletedSandboxes(msgspec.Struct, frozen=True):
    """The ids of those that are gone, and what could not be deleted."""

    succeeded: list[str]
    failed: list[NotDeleted]


@hub_options(YES, answer=DeletedSandboxes, effects=WRITES, exits=ExitCode.ENVIRONMENT)
def delete(
    ctx: typer.Context,
    sandboxes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SANDBOX...]", help="Names, ids or starts of ids."),
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", "-a", help="All of yours.")] = False,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="LABEL", help="All with this label; repeatable."),
    ] = None,
    all_users: Annotated[
        bool,
        typer.Option(
            "--all-users/--only-mine",
            "-A/-m",
            help="Also those of others in the team, for its admins.",
        ),
    ] = False,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="ID", help="Those of this user, for admins."),
    ] = None,
) -> None:
    """Delete sandboxes.

    Their files are lost. Succeeds for sandboxes that have already ended.

    \b
    Example:
      prime sandbox delete box --yes
      prime sandbox delete --label prime-run:1f2e3d4c --yes
      prime sandbox delete --all --yes
    \b
    See also: `prime sandbox list`.
    """
    session = open_session(ctx)
    words = sandboxes or []
    if bool(words) + everything + bool(labels) != 1:
        raise UsageError("Name sandboxes, or pass `--all` or `--label`")
    if words:
        ids = ids_of(session.hub, words)
    else:
        query = SandboxQuery(
            labels=tuple(labels or ()), user_id=user, is_active=True, per_page=1000
        )
        ids = [each.id for each in session.hub.sandboxes.all(query)]
    if not ids:
        session.output.done("There is no such sandbox", value=DeletedSandboxes([], []))
        return
    what = f"`{words[0]}`" if len(words) == 1 else pluralize(len(ids), "sandbox", "sandboxes")
    session.output.confirm(f"Delete {what}?", otherwise="Nothing was deleted")
    _tell(session, _delete(session, ids, all_users=all_users))


def _delete(session: Session, ids: list[str], *, all_users: bool) -> SandboxesDeleted:
    whole = SandboxesDeleted([], [], "")
    for first in range(0, len(ids), MOST_AT_ONCE):
        part = ids[first : first + MOST_AT_ONCE]
        deletion = SandboxDeletion(sandbox_ids=part, all_users=all_users)
        done = session.hub.sandboxes.delete_many(deletion)
        whole.succeeded += done.succeeded
        whole.failed += done.failed
    return whole


def _tell(session: Session, deleted: SandboxesDeleted) -> None:
    for each in deleted.failed:
        session.output.warn(f"{each.sandbox_id}: {each.error}")
    count = pluralize(len(deleted.succeeded), "sandbox", "sandboxes")
    record = DeletedSandboxes(deleted.succeeded, deleted.failed)
    session.output.done(f"Deleted {count}", value=record)
    if deleted.failed:
        count = pluralize(len(deleted.failed), "sandbox", "sandboxes")
        raise EnvironmentFailed(f"{count} could not be deleted", hint="see `prime sandbox list`")
