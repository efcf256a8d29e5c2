"""Where a push begins: at an evaluation that is there already, or at one that is to be made."""

from typing import TYPE_CHECKING

import msgspec

from prime_cli.core.errors import Conflict, NotFound
from prime_cli.core.progress import Progress
from prime_cli.evals.sharing.described import PUSH_KEY
from prime_cli.evals.sharing.identity import content_of, key_of
from prime_cli.evals.sharing.options import PushOptions
from prime_cli.evals.sharing.records import PushRecord, load_record
from prime_cli.runs.saved_run import SavedRun

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient

_NEWEST = 50
"""Evaluations among which one without its id is looked for."""


def find_beginning(
    hub: "HubClient", run: SavedRun, options: PushOptions, progress: Progress
) -> PushRecord:
    """What push.json said last, if its evaluation is still to be filled; says why it is not.

    Without an `evaluation_id` one is to be made under `key`. Raises NotFound for an evaluation
    that was named and is not there, Conflict where samples would be kept twice.
    """
    fresh = _fresh(hub, run, anew=options.anew)
    before = load_record(run.folder.path, hub.base_url)
    if options.evaluation_id is not None:
        return _find_named(hub, options.evaluation_id, before, fresh)
    if before is None or options.anew:
        return fresh
    if before.evaluation_id is None:
        return _find_orphan(hub, before)
    if before.content != fresh.content and not hub.evaluations.knows_batches:
        progress.say("The run has changed, and this hub keeps samples as they came")
        return _fresh(hub, run, anew=True)
    try:
        hub.evaluations.get(before.evaluation_id)
    except NotFound:
        progress.say(f"{before.evaluation_id} is no longer on {hub.host}")
        return fresh
    return before


def _fresh(hub: "HubClient", run: SavedRun, *, anew: bool) -> PushRecord:
    return PushRecord(hub=hub.base_url, key=key_of(run, anew=anew), content=content_of(run))


def _find_named(
    hub: "HubClient", named: str, before: PushRecord | None, fresh: PushRecord
) -> PushRecord:
    if before is not None and before.evaluation_id == named:
        return before
    found = hub.evaluations.get(named)
    if found.total_samples and not hub.evaluations.knows_batches:
        raise Conflict(
            f"{named} has {found.total_samples} samples, and this hub would keep both",
            hint="leave out `--eval` to make a new evaluation",
        )
    return msgspec.structs.replace(
        fresh, evaluation_id=named, viewer_url=found.viewer_url, content=""
    )


def _find_orphan(hub: "HubClient", before: PushRecord) -> PushRecord:
    """What a push made that broke off before it could write down its id.

    A hub of ours knows the key; on others it is looked for among the newest.
    """
    if hub.evaluations.knows_batches:
        return before
    for each in hub.evaluations.list(limit=_NEWEST).evaluations:
        if each.metadata.get(PUSH_KEY) == before.key:
            return msgspec.structs.replace(
                before, evaluation_id=each.evaluation_id, viewer_url=each.viewer_url
            )
    return before
