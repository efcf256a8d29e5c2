"""`prime pods terminate`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from prime_cli.commands.options import (
    ContextOpt,
    OfflineOpt,
    OutputOpt,
    QuietOpt,
    YesOpt,
    open_session,
)
from prime_cli.commands.pods.words import described, price_words
from prime_cli.core.completion_cache import forget
from prime_cli.core.phrases import counted
from prime_cli.pods.ending import Ending, Wanted, end_pods, find_wanted
from prime_cli.pods.ssh.forgetting import forget_pod
from prime_cli.session import Session
from prime_cli.wire.pods import TERMINATED, Pod


def terminate(
    ctx: typer.Context,
    pods: Annotated[
        list[str],
        typer.Argument(metavar="POD...", help="Names, ids or beginnings of ids."),
    ],
    yes: YesOpt = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Ask for it, and leave before they are gone.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """End pods, and everything on them but their disks.

    One that has ended already is no failure. What fails for one is told, the others are ended all
    the same, and the exit code is that of the worst.

    \b
    Example:
      prime pods terminate my-pod
      prime pods terminate my-pod 1f2e3d4c --yes
    \b
    See also: `prime pods list`, `prime pods history`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    now = datetime.now(UTC)
    wanted = find_wanted(session.hub, pods)
    if len(pods) == 1 and wanted.unknown:
        raise wanted.unknown[0]
    for found in wanted.ended:
        session.output.say(f"`{found.pod.name or found.pod.id}` has ended already")
    endings = _end(session, wanted, now, yes=yes, wait=not no_wait)
    _tell(session, endings, wanted)


def _end(
    session: Session, wanted: Wanted, now: datetime, *, yes: bool, wait: bool
) -> Sequence[Ending]:
    if not wanted.present:
        return []
    _confirm(session, wanted.present, now, yes=yes)
    endings = end_pods(session.hub, wanted.present, session.progress, now=now, wait=wait)
    for each in endings:
        if each.error is None:
            forget("pods", filter(None, (each.id, each.name)))
            forget_pod(session.config.home.value, each.id)
    return endings


def _confirm(session: Session, pods: Sequence[Pod], now: datetime, *, yes: bool) -> None:
    show = session.output
    # Whoever is asked has to see it; whoever has agreed beforehand may want quiet.
    for pod in pods:
        (show.say if yes else show.tell)(described(pod, now))
    title = f"`{pods[0].name or pods[0].id}`" if len(pods) == 1 else counted(len(pods), "pod")
    there = "it" if len(pods) == 1 else "them"
    but = " but disks" if any(pod.attached_resources for pod in pods) else ""
    show.confirm(
        f"Terminate {title} and all that is on {there}{but}?",
        yes=yes,
        otherwise="Nothing was terminated",
    )


def _tell(session: Session, endings: Sequence[Ending], wanted: Wanted) -> None:
    failures = [*wanted.unknown, *(each.error for each in endings if each.error)]
    ended = [found.pod for found in wanted.ended]
    records = [
        *({"id": each.id, "name": each.name, "status": each.status, "billed": each.billed,
           "error": each.error.message if each.error else None} for each in endings),
        *({"id": pod.id, "name": pod.name, "status": TERMINATED, "billed": pod.total_cost,
           "error": None} for pod in ended),
    ]  # fmt: skip
    if len(failures) == 1 and len(records) + len(wanted.unknown) == 1:
        raise failures[0]
    sentences = [_sentence(each) for each in endings if each.error is None]
    if sentences or session.output.is_json:
        session.output.done("\n".join(sentences), value={"pods": records})
    for failure in failures:
        session.output.warn(failure.message, hint=failure.hint)
    if failures:
        worst = max(failures, key=lambda failure: failure.exit_code)
        asked = len(records) + len(wanted.unknown)
        raise type(worst)(f"{len(failures)} of {counted(asked, 'pod')} could not be terminated")


def _sentence(ending: Ending) -> str:
    if ending.status != TERMINATED:
        return f"`{ending.title}` is being ended"
    billed = "" if ending.billed is None else f", after about {price_words(ending.billed)}"
    return f"`{ending.title}` is gone{billed}"
