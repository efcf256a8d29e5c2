"""`prime pods list`."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import LimitOpt, OffsetOpt
from prime_cli.commands.pods.words import price_words, short_ids, stops_in
from prime_cli.core.completion_cache import remember, replace
from prime_cli.core.errors import UsageError
from prime_cli.core.phrases import counted
from prime_cli.pods.listing import ListedPod, PodListing, hourly_price, list_pods
from prime_cli.pods.polling import polled
from prime_cli.pods.watching import changed
from prime_cli.session import Session

_COLUMNS = ("Name", "Id", "GPU", "Status", "Created", "Stops in", "$/h")


def list_(
    ctx: typer.Context,
    limit: LimitOpt = 100,
    offset: OffsetOpt = 0,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on, and show what changes, until Ctrl-C.")
    ] = False,
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
    if watch and session.output.mode == "json":
        raise UsageError(
            "`--watch` has no end, and one JSON document has", hint="add `--output jsonl`"
        )
    hub = session.hub
    if watch:
        _watch(session, lambda: list_pods(hub, offset=offset, limit=limit))
    else:
        _show(list_pods(hub, offset=offset, limit=limit), session)


def _show(listing: PodListing, session: Session) -> None:
    _keep_names(listing)
    shown = session.output
    rows = _rows(listing.pods, whole_ids=shown.mode == "plain")
    shown.table(_COLUMNS, rows, records=listing.pods, page=listing)
    if summary := _summary(listing.pods):
        shown.say(summary)
    if listing.more:
        shown.hint(f"{listing.more} more with `--offset {listing.offset + len(rows)}`")
    elif not rows:
        shown.hint("find a machine with `prime availability list`")


def _watch(session: Session, ask: Callable[[], PodListing]) -> None:
    table = session.output.live_table()
    if table is None:
        _tell_changes(session, ask)
        return
    with table:
        for listing in polled(ask):
            _keep_names(listing)
            summary = _summary(listing.pods) or "No pod is there"
            table.show(_COLUMNS, _rows(listing.pods), f"{summary} (Ctrl-C ends this)")


def _tell_changes(session: Session, ask: Callable[[], PodListing]) -> None:
    shown = session.output
    before: Sequence[ListedPod] = ()
    for listing in polled(ask):
        for pod in changed(before, listing.pods):
            if shown.mode == "table":
                since = f"{datetime.now(UTC):%H:%M:%S}"
                shown.text(f"{since} {pod.name or pod.id} is {pod.status}", record=pod)
            else:
                shown.table(_COLUMNS, _rows([pod], whole_ids=True), records=[pod])
        before = listing.pods


def _keep_names(listing: PodListing) -> None:
    names = [name for pod in listing.pods for name in (pod.name, pod.id) if name]
    (remember if listing.offset or listing.more else replace)("pods", names)


def _summary(pods: Sequence[ListedPod]) -> str:
    running = [pod for pod in pods if pod.runs]
    if not running:
        return ""
    price = f"{price_words(hourly_price(running))}/h"
    return f"{counted(len(running), 'pod')} at {price}{' together' if len(running) > 1 else ''}"


def _rows(pods: Sequence[ListedPod], *, whole_ids: bool = False) -> list[list[str]]:
    now = datetime.now(UTC)
    ids = [pod.id for pod in pods]
    named = zip(pods, ids if whole_ids else short_ids(ids), strict=True)
    return [
        [
            pod.name or "-",
            name,
            pod.gpu if pod.nodes == 1 else f"{pod.nodes} x {pod.gpu}",
            pod.status,
            pod.created_at,
            stops_in(pod.stop_at, now),
            price_words(pod.price_per_hour),
        ]
        for pod, name in named
    ]
