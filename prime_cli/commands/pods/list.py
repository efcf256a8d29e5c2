"""`prime pods list` and `prime pods history`."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import typer

from prime_cli.client.pods.listing import (
    ListedPod,
    gpu_words,
    hourly,
    hourly_price,
    list_pods,
    timestamp,
)
from prime_cli.client.pods.lookup import EndedPod, ended_pod, list_ended
from prime_cli.commands.options import hub_options, open_session
from prime_cli.commands.pods.tables import (
    ListView,
    WatchOpt,
    countdown,
    duration_text,
    machine_text,
    short_ids,
    show_list,
)
from prime_cli.core.formatting import format_usd, pluralize
from prime_cli.wire.pods import PastPod
from prime_cli.wire.queries import PageQuery


class ListedPods(msgspec.Struct, frozen=True):
    """A page of pods, and how many there are."""

    pods: list[ListedPod]
    total_count: int
    offset: int
    limit: int


@hub_options(answer=ListedPods, record=ListedPod)
def list_(
    ctx: typer.Context,
    page: PageQuery,
    watch: WatchOpt = False,
) -> None:
    """List your pods.

    Terminated pods are in `prime pods history`. --watch refreshes the table every five seconds, or
    prints a line for each change if there is no terminal.

    \b
    Example:
      prime pods list
      prime pods list --output json
      prime pods list --watch --output jsonl
    \b
    See also: `prime pods status`, `prime pods terminate`.
    """
    session = open_session(ctx)
    show_list(session, _PODS, lambda hub: list_pods(hub, page), watch=watch)


def _sum_up(pods: Sequence[ListedPod]) -> str:
    running = [pod for pod in pods if pod.runs]
    if not running:
        return ""
    price = hourly(hourly_price(running))
    return f"{pluralize(len(running), 'pod')} at {price}{' together' if len(running) > 1 else ''}"


def _row(pod: ListedPod, shown_id: str) -> list[str]:
    return [
        pod.name or "-",
        shown_id,
        machine_text(pod.gpu, pod.nodes),
        pod.status,
        pod.created_at,
        countdown(pod.stop_at, datetime.now(UTC)),
        format_usd(pod.price_per_hour, "-"),
    ]


_PODS = ListView(
    "pods",
    ListedPods,
    ("Name", "Id", "GPU", "Status", "Created", "Stops in", "$/h"),
    _row,
    _sum_up,
    "find a machine with `prime availability list`",
)


_HISTORY_COLUMNS = ("Name", "Id", "GPU", "Ended", "Duration", "Cost", "Provider", "Team")


class PodHistory(msgspec.Struct, frozen=True):
    """A page of terminated pods, and how many there are."""

    history: list[EndedPod]
    total_count: int
    offset: int
    limit: int


@hub_options(answer=PodHistory, record=EndedPod)
def history(
    ctx: typer.Context,
    page: PageQuery,
) -> None:
    """List terminated pods, latest first.

    Shows the cost of each.

    \b
    Example:
      prime pods history --limit 10
      prime pods history --output json
    \b
    See also: `prime pods list`, `prime pods status`.
    """
    session = open_session(ctx)
    found = list_ended(session.hub, page)
    ids = [pod.id for pod in found.data]
    short = ids if session.output.mode == "plain" else short_ids(ids)
    rows = [_ended_row(pod, name) for pod, name in zip(found.data, short, strict=True)]
    records = [ended_pod(pod) for pod in found.data]
    whole = PodHistory(records, found.total_count, found.offset, found.limit)
    session.output.table(_HISTORY_COLUMNS, rows, records=records, page=whole)
    if not rows and not page.offset:
        session.output.say("No pod has been terminated yet")
    if found.more:
        session.output.hint(f"{found.more} more with `--offset {page.offset + len(rows)}`")


def _ended_row(pod: PastPod, short: str) -> list[str]:
    return [
        pod.name or "-",
        short,
        gpu_words(pod.gpu_name, pod.gpu_count),
        timestamp(pod.terminated_at) if pod.terminated_at else "-",
        duration_text(pod.created_at, pod.terminated_at),
        format_usd(pod.total_billed_price, "-"),
        pod.provider_type,
        pod.team_id or "-",
    ]
