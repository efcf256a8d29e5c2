"""`prime env delete`."""

from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    NoQuestionOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    open_session,
)
from prime_cli.core.completion_cache import forget
from prime_cli.core.refs import EnvRef
from prime_cli.envs.hub_environments import Deletion, plan_deletion, run_deletion
from prime_cli.session import Session


def delete(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="What to delete.")
    ],
    yes: NoQuestionOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """Delete an environment or one version of it.

    Without a version, every version goes. What was installed or fetched from it stays.

    \b
    Example:
      prime env delete ada/wordle@0.1.0
      prime env delete ada/wordle --yes
    \b
    See also: `prime env versions`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    delete_planned(session, EnvRef.parse(environment), yes=yes)


def delete_planned(session: Session, ref: EnvRef, *, yes: bool) -> None:
    """Ask whether what `ref` names is to go, and delete it."""
    hub = session.hub.of(ref.owner)
    plan = plan_deletion(hub, ref)
    session.output.confirm(f"Delete {_described(plan)}?", yes=yes, otherwise="Nothing was deleted")
    run_deletion(hub, plan)
    if plan.content_hash is None:
        forget("environments", [plan.ref.slug])
    record = {"environment": plan.ref.slug, "deleted": plan.versions}
    session.output.done(f"Deleted {_described(plan)}", value=record)


def _described(plan: Deletion) -> str:
    if plan.content_hash is not None:
        return str(plan.ref)
    count = len(plan.versions)
    return f"{plan.ref.slug} with {'its only version' if count == 1 else f'all {count} versions'}"
