"""`prime pods list`."""

from datetime import UTC, datetime

import typer

from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import LimitOpt, OffsetOpt
from prime_cli.commands.pods.words import price_words, short_ids, stops_in
from prime_cli.core.completion_cache import remember, replace
from prime_cli.core.phrases import counted
from prime_cli.pods.listing import ListedPod, PodListing, hourly_price, list_pods
from prime_cli.session import Session

_COLUMNS = ("Name", "Id", "GPU", "Status", "Created", "Stops in", "$/h")


def list_(
    ctx: typer.Context,
    limit: LimitOpt = 100,
    offset: OffsetOpt = 0,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the pods that are there.

    Those that ended are in `prime pods history`.

    \b
    Example:
      prime pods list
      prime pods list --output json
    \b
    See also: `prime pods status`, `prime pods terminate`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    _show(list_pods(session.hub, offset=offset, limit=limit), session)


def _show(listing: PodListing, session: Session) -> None:
    names = [name for pod in listing.pods for name in (pod.name, pod.id) if name]
    (remember if listing.offset or listing.more else replace)("pods", names)
    now = datetime.now(UTC)
    shown = session.output
    ids = [pod.id for pod in listing.pods]
    short = ids if shown.mode == "plain" else short_ids(ids)
    rows = [_row(pod, name, now) for pod, name in zip(listing.pods, short, strict=True)]
    shown.table(_COLUMNS, rows, records=listing.pods, page=listing)
    if running := [pod for pod in listing.pods if pod.runs]:
        together = price_words(hourly_price(running))
        shown.say(f"{counted(len(running), 'pod')} at {together}/h together")
    if listing.more:
        shown.hint(f"{listing.more} more: `--offset {listing.offset + len(listing.pods)}`")


def _row(pod: ListedPod, short: str, now: datetime) -> list[str]:
    return [
        pod.name or "-",
        short,
        pod.gpu if pod.nodes == 1 else f"{pod.nodes} x {pod.gpu}",
        pod.status,
        pod.created_at,
        stops_in(pod.stop_at, now),
        price_words(pod.price_per_hour),
    ]
