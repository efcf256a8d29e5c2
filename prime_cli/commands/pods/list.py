"""`prime pods list` and `prime pods history`."""

from collections.abc import Sequence
from datetime import UTC, datetime

import typer

from prime_cli.commands.options import hub_options, open_session
from prime_cli.commands.pods.listing import (
    WatchColumns,
    WatchOpt,
    countdown,
    duration_text,
    machine_text,
    require_lines,
    short_ids,
)
from prime_cli.commands.pods.listing import watch as go_on
from prime_cli.core.completion_cache import note
from prime_cli.core.formatting import format_usd, pluralize
from prime_cli.pods.formatting import hourly
from prime_cli.pods.listing import ListedPod, PodListing, hourly_price, list_pods
from prime_cli.pods.lookup import EndedPod, list_ended
from prime_cli.terminal.output import Output
from prime_cli.wire.queries import PageQuery


@hub_options()
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
    if watch:
        require_lines(session.output, "--watch")
    hub = session.hub

    def ask() -> PodListing:
        listing = list_pods(hub, page)
        names = [name for pod in listing.pods for name in (pod.name, pod.id) if name]
        note("pods", names, are_all=not (listing.offset or listing.more))
        return listing

    if watch:
        go_on(session, lambda: ask().pods, _COLUMNS, lambda pods: _sum_up(pods) or "No pods")
    else:
        _show_pods(session.output, ask())


def _show_pods(output: Output, listing: PodListing) -> None:
    rows = _COLUMNS.rows(listing.pods, whole_ids=output.mode == "plain")
    output.table(_COLUMNS.titles, rows, records=listing.pods, page=listing)
    if summary := _sum_up(listing.pods):
        output.say(summary)
    if listing.more:
        output.hint(f"{listing.more} more with `--offset {listing.offset + len(rows)}`")
    elif not rows:
        output.hint("find a machine with `prime availability list`")


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


_COLUMNS = WatchColumns(("Name", "Id", "GPU", "Status", "Created", "Stops in", "$/h"), _row)


_HISTORY_COLUMNS = ("Name", "Id", "GPU", "Ended", "Duration", "Cost", "Provider", "Team")


@hub_options()
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
    ids = [pod.id for pod in found.history]
    short = ids if session.output.mode == "plain" else short_ids(ids)
    rows = [_ended_row(pod, name) for pod, name in zip(found.history, short, strict=True)]
    session.output.table(_HISTORY_COLUMNS, rows, records=found.history, page=found)
    if not rows and not page.offset:
        session.output.say("No pod has been terminated yet")
    if found.more:
        session.output.hint(f"{found.more} more with `--offset {page.offset + len(rows)}`")


def _ended_row(pod: EndedPod, short: str) -> list[str]:
    return [
        pod.name or "-",
        short,
        pod.gpu,
        pod.terminated_at or "-",
        duration_text(pod.created_at, pod.terminated_at),
        format_usd(pod.total_cost, "-"),
        pod.provider,
        pod.team_id or "-",
    ]
