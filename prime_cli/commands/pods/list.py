"""`prime pods list`."""

from collections.abc import Sequence
from datetime import UTC, datetime

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import LimitOpt, OffsetOpt
from prime_cli.commands.pods.watching import Columns, WatchOpt, require_lines
from prime_cli.commands.pods.watching import watch as go_on
from prime_cli.commands.pods.words import machine_words, price_words, stops_in
from prime_cli.core.completion_cache import note
from prime_cli.core.formatting import pluralize
from prime_cli.pods.listing import ListedPod, PodListing, hourly_price, list_pods
from prime_cli.pods.prices import hourly
from prime_cli.terminal.output import Output


def list_(
    ctx: typer.Context,
    limit: LimitOpt = 100,
    offset: OffsetOpt = 0,
    watch: WatchOpt = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the pods that are there.

    Those that ended are in `prime pods history`. With --watch the table is drawn anew every five
    seconds; where there is no terminal, each change is a line.

    \b
    Example:
      prime pods list
      prime pods list --output json
      prime pods list --watch --output jsonl
    \b
    See also: `prime pods status`, `prime pods terminate`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if watch:
        require_lines(session.output, "--watch")
    hub = session.hub

    def ask() -> PodListing:
        listing = list_pods(hub, offset=offset, limit=limit)
        names = [name for pod in listing.pods for name in (pod.name, pod.id) if name]
        note("pods", names, are_all=not (listing.offset or listing.more))
        return listing

    if watch:
        go_on(
            session, lambda: ask().pods, _COLUMNS, lambda pods: _sum_up(pods) or "No pod is there"
        )
    else:
        _show(session.output, ask())


def _show(output: Output, listing: PodListing) -> None:
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
        machine_words(pod.gpu, pod.nodes),
        pod.status,
        pod.created_at,
        stops_in(pod.stop_at, datetime.now(UTC)),
        price_words(pod.price_per_hour),
    ]


_COLUMNS = Columns(("Name", "Id", "GPU", "Status", "Created", "Stops in", "$/h"), _row)
