"""`prime pods status` and `prime pods logs`."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from prime_cli.client.pods.listing import (
    PodDetails,
    billed_so_far,
    details,
    gpu_words,
    hourly,
    image_of,
    join_addresses,
    moment,
    read_current,
    timestamp,
)
from prime_cli.client.pods.lookup import (
    EndedPod,
    HistoryMatch,
    LastState,
    ended_pod,
    find_present_or_past,
    read_last_state,
)
from prime_cli.client.pods.watch import follow_log, read_log
from prime_cli.commands.options import PodArg, hub_options, open_session
from prime_cli.commands.pods.tables import (
    deadline_text,
    duration_text,
    machine_text,
    require_lines,
)
from prime_cli.core.formatting import format_usd
from prime_cli.session import Session
from prime_cli.terminal.text import age
from prime_cli.wire.pods import ACTIVE, ERROR, FINISHED, PastPod, Pod, PodLog

_PERSONAL = "none; only you can use it"


@hub_options(answer=(PodDetails, EndedPod))
def status(
    ctx: typer.Context,
    pod: PodArg,
) -> None:
    """Show the status and cost of a pod.

    Shows terminated pods from the history.

    \b
    Example:
      prime pods status my-pod
      prime pods status 1f2e3d4c --output json
    \b
    See also: `prime pods list`, `prime pods logs`, `prime pods history`.
    """
    session = open_session(ctx)
    hub, now = session.hub, datetime.now(UTC)
    found = find_present_or_past(hub, pod)
    if isinstance(found, HistoryMatch):
        _show_ended(session, found)
    else:
        _show(session, read_current(hub, found), now, pod)


def _show(session: Session, pod: Pod, now: datetime, word: str) -> None:
    """Show a pod; hints name it by the `word` that found it, as its name may be another's too."""
    session.output.show(details(pod, now), lines=_lines(pod, now))
    if pod.shown_status == ERROR:
        why = pod.installation_failure or "the hub gives no reason"
        session.output.warn(
            f"`{pod.title}` failed: {why}",
            hint=f"`prime pods logs {word}` has details; terminate it with "
            f"`prime pods terminate {word}`",
        )
    elif pod.shown_status == ACTIVE:
        session.output.hint(f"connect with `prime pods ssh {word}`")


def _lines(pod: Pod, now: datetime) -> list[tuple[str, str]]:
    lines = [
        ("name", pod.name or "-"),
        ("id", pod.id),
        ("status", pod.shown_status),
        ("team", pod.team_id or _PERSONAL),
        ("provider", pod.provider_type),
        ("gpu", machine_text(gpu_words(pod.gpu_name, pod.gpu_count), pod.nodes)),
        ("image", image_of(pod) or "-"),
        ("created", timestamp(pod.created_at)),
        *_restarted(pod, now),
        ("stops", deadline_text(when, now) if (when := moment(pod.stop_at)) else "-"),
        ("price", f"{hourly(pod.price_hr)}, {format_usd(billed_so_far(pod, now), '-')} so far"),
        ("ip", join_addresses(pod.ip)),
        ("ssh", join_addresses(pod.ssh_connection)),
    ]
    if pod.installation_status and pod.installation_status not in (ERROR, FINISHED):
        progress = pod.installation_progress
        done = "" if progress is None else f", {progress}%"
        lines.append(("installing", f"{pod.installation_status}{done}"))
    for port in pod.prime_port_mapping or ():
        about = " ".join(dict.fromkeys(filter(None, (port.used_by, port.description))))
        shown = f"{port.protocol} {port.external} -> {port.internal}"
        lines.append(("port", f"{shown}, {about}" if about else shown))
    for disk in pod.attached_resources or ():
        size = f", {disk.size} GB" if disk.size else ""
        where = f", at {disk.mount_path}" if disk.mount_path else ""
        lines.append(("disk", f"{disk.id}{size}{where}"))
    return lines


def _restarted(pod: Pod, now: datetime) -> list[tuple[str, str]]:
    if not pod.started_again:
        return []
    when = timestamp(pod.started_again)
    return [("restarted", f"{when} ({age(when, now)})")]


def _show_ended(session: Session, found: HistoryMatch) -> None:
    pod, last = found.pod, read_last_state(session.hub, found.pod.id)
    when = age(timestamp(pod.terminated_at or ""), datetime.now(UTC)) or "at an unknown time"
    session.output.show(ended_pod(pod, last), lines=_ended_lines(pod, last))
    title = pod.title
    if last.installation_error:
        session.output.warn(f"`{title}` failed: {last.installation_error}")
    session.output.say(f"`{title}` ended, {when}")
    session.output.hint(f"`prime pods history --offset {found.position} --limit 1` has it")


def _ended_lines(pod: PastPod, last: LastState) -> list[tuple[str, str]]:
    return [
        ("name", pod.name or "-"),
        ("id", pod.id),
        ("status", last.status),
        ("team", pod.team_id or _PERSONAL),
        ("provider", pod.provider_type),
        ("gpu", gpu_words(pod.gpu_name, pod.gpu_count)),
        ("created", timestamp(pod.created_at)),
        ("ended", timestamp(pod.terminated_at) if pod.terminated_at else "-"),
        ("duration", duration_text(pod.created_at, pod.terminated_at)),
        ("price", f"{hourly(pod.price_hr)}, {format_usd(pod.total_billed_price, '-')} in all"),
    ]


@hub_options(answer=PodLog)
def logs(
    ctx: typer.Context,
    pod: PodArg,
    tail: Annotated[
        int,
        typer.Option(
            "--tail", "-n", min=1, max=10_000, help="Number of lines to show, from the end."
        ),
    ] = 1000,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow the log until the pod ends.")
    ] = False,
) -> None:
    """Print the log of a pod.

    \b
    Example:
      prime pods logs my-pod --tail 20
      prime pods logs my-pod --follow
    \b
    See also: `prime pods status`, `prime eval logs`.
    """
    session = open_session(ctx)
    if follow:
        require_lines(session.output, "--follow")
    hub = session.hub
    found = find_present_or_past(hub, pod)
    if not follow:
        piece = read_log(hub, found, tail)
        _print_log(session, piece)
        if not piece.logs:
            session.output.say(
                f"`{pod}` has been terminated, and its log was not kept"
                if isinstance(found, HistoryMatch)
                else "The log is empty"
            )
        return
    for piece in follow_log(hub, found, tail):
        if piece.logs:
            _print_log(session, piece)
        if not session.output.is_read():
            return
    session.output.say(f"`{pod}` has ended")


def _print_log(session: Session, piece: PodLog) -> None:
    session.output.text(piece.logs, record=piece)
