"""`prime pods terminate`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer

from prime_cli.client.pods.ssh.config import forget_pod
from prime_cli.client.pods.terminate import (
    Termination,
    TerminationTarget,
    TerminationTargets,
    find_targets,
    terminate_pods,
)
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.commands.pods.tables import described
from prime_cli.core.completion_cache import forget
from prime_cli.core.errors import PrimeError
from prime_cli.core.formatting import first_few, format_usd, pluralize
from prime_cli.session import Session
from prime_cli.wire.pods import TERMINATED


class TerminatedPod(msgspec.Struct, frozen=True):
    """A pod that was to end; `billed` is in USD, about, and `error` says why it could not."""

    id: str
    name: str | None
    owner: str | None
    status: str
    billed: float | None
    error: str | None


class TerminatedPods(msgspec.Struct, frozen=True):
    """Each of the pods, terminated ones first."""

    pods: list[TerminatedPod]


@hub_options(YES, "no_wait", answer=TerminatedPods, effects=WRITES)
def terminate(
    ctx: typer.Context,
    pods: Annotated[
        list[str],
        typer.Argument(metavar="POD...", help="Names, ids or starts of ids."),
    ],
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Return before they are gone.")
    ] = False,
) -> None:
    """Terminate pods; attached disks are kept.

    Succeeds for pods that are already terminated. An admin of the hub can terminate other users'
    pods by their full id; the question names the owner. If one fails, the others are still
    terminated, and the exit code is that of the worst failure.

    \b
    Example:
      prime pods terminate my-pod
      prime pods terminate my-pod 1f2e3d4c --yes
    \b
    See also: `prime pods list`, `prime pods history`.
    """
    session = open_session(ctx)
    now = datetime.now(UTC)
    targets = find_targets(session.hub, pods)
    if len(pods) == 1 and targets.unknown:
        raise targets.unknown[0]
    for ended in targets.ended:
        session.output.say(f"{ended.title} has already been terminated")
    for unknown in targets.unknown:  # before anybody is asked about the rest
        _warn(session, unknown)
    endings = _end(session, targets.present, now, wait=not no_wait)
    _tell(session, endings, targets)


def _end(
    session: Session, targets: Sequence[TerminationTarget], now: datetime, *, wait: bool
) -> Sequence[Termination]:
    if not targets:
        return []
    _confirm(session, targets, now)
    endings = terminate_pods(session.hub, targets, session.progress, now=now, wait=wait)
    for each in endings:
        if each.error is None:
            forget("pods", filter(None, (each.id, each.name)))
            forget_pod(session.config.home.value, each.id)
    return endings


def _confirm(session: Session, targets: Sequence[TerminationTarget], now: datetime) -> None:
    show = session.output
    # A prompt needs it even with --quiet; with --yes it is optional.
    for target in targets:
        (show.say if session.yes else show.tell)(described(target.pod, now, target.owner))
    there = "it" if len(targets) == 1 else "them"
    but = " but disks" if any(target.pod.attached_resources for target in targets) else ""
    show.confirm(
        f"Terminate {_whose(targets)} and all data on {there}{but}?",
        otherwise="Nothing was terminated",
    )


def _whose(targets: Sequence[TerminationTarget]) -> str:
    """The pods for the prompt, which names other users explicitly."""
    if len(targets) == 1:
        only = targets[0]
        of_whom = f" of `{only.owner}`" if only.owner else ""
        return f"`{only.pod.title}`{of_whom}"
    others = sorted({f"`{target.owner}`" for target in targets if target.owner})
    among = f", those of {first_few(others)} among them," if others else ""
    return f"{pluralize(len(targets), 'pod')}{among}"


def _tell(session: Session, endings: Sequence[Termination], targets: TerminationTargets) -> None:
    failed = [each.error for each in endings if each.error]
    failures = [*targets.unknown, *failed]
    records = [_record(each) for each in (*endings, *targets.ended)]
    asked = len(records) + len(targets.unknown)
    if asked == len(failures) == 1:
        raise failures[0]
    sentences = [_sentence(each) for each in endings if each.error is None]
    if sentences or session.output.is_json:
        session.output.done("\n".join(sentences), value=TerminatedPods(records))
    for failure in failed:
        _warn(session, failure)
    if failures:
        worst = max(failures, key=lambda failure: failure.exit_code)
        raise type(worst)(f"{len(failures)} of {pluralize(asked, 'pod')} could not be terminated")


def _warn(session: Session, failure: PrimeError) -> None:
    session.output.warn(failure.message, hint=failure.hint)
    for line in (failure.detail or "").splitlines():
        session.output.tell(f"  {line}")


def _record(ending: Termination) -> TerminatedPod:
    return TerminatedPod(
        id=ending.id,
        name=ending.name,
        owner=ending.owner,
        status=ending.status,
        billed=ending.billed,
        error=ending.error.message if ending.error else None,
    )


def _sentence(ending: Termination) -> str:
    if ending.status != TERMINATED:
        return f"{ending.title} is being terminated"
    billed = "" if ending.billed is None else f", after about {format_usd(ending.billed, '-')}"
    return f"{ending.title} is gone{billed}"
