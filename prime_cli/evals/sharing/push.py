"""Push runs: to an existing evaluation or to a new one."""

from typing import TYPE_CHECKING

import msgspec

from prime_cli.core.errors import Conflict, NotFound
from prime_cli.core.progress import Progress
from prime_cli.evals.sharing.description import PUSH_KEY
from prime_cli.evals.sharing.push_options import PushOptions
from prime_cli.evals.sharing.push_record import PushRecord, content_of, key_of, load_record
from prime_cli.runs.saved_run import SavedRun

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from prime_cli.client.accounts.teams import find_team
from prime_cli.client.api.evaluations import MOST_SAMPLE_BYTES
from prime_cli.evals.sharing.description import describe, find_published
from prime_cli.evals.sharing.logs import push_log
from prime_cli.evals.sharing.push_options import PushResult, require_whole
from prime_cli.evals.sharing.push_record import save_record
from prime_cli.evals.sharing.samples import encode_sample
from prime_cli.runs.folder import writing
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.summary import Summary
from prime_cli.wire.evaluations import (
    PENDING,
    EvaluationQuery,
    EvaluationRequest,
    EvaluationUpdate,
    SampleQuery,
)

if TYPE_CHECKING:
    from prime_cli.client.api.client import HubClient


_NEWEST = 50
"""The number of evaluations to search for one without a known id."""


def find_beginning(
    hub: "HubClient", run: SavedRun, options: PushOptions, progress: Progress
) -> PushRecord:
    """The last state in push.json, if its evaluation can still be filled; reports why not.

    Without an `evaluation_id` one will be created under `key`. Raises NotFound if a named
    evaluation does not exist, Conflict if samples would be stored twice.
    """
    fresh = _fresh(hub, run, options, anew=options.anew)
    before = load_record(run.folder.path, hub.base_url)
    if options.evaluation_id is not None:
        return _find_named(hub, options.evaluation_id, before, fresh)
    if before is None or options.anew:
        return fresh
    if before.evaluation_id is None:
        return _find_orphan(hub, before)
    if before.content != fresh.content and not hub.evaluations.knows_batches:
        progress.say("The run has changed, and this hub cannot replace samples")
        return _fresh(hub, run, options, anew=True)
    try:
        hub.evaluations.get(before.evaluation_id)
    except NotFound:
        progress.say(f"{before.evaluation_id} is no longer on {hub.host}")
        return fresh
    return before


def _fresh(hub: "HubClient", run: SavedRun, options: PushOptions, *, anew: bool) -> PushRecord:
    content = content_of(run, options.trust)
    return PushRecord(hub=hub.base_url, key=key_of(run, anew=anew), content=content)


def _find_named(
    hub: "HubClient", named: str, before: PushRecord | None, fresh: PushRecord
) -> PushRecord:
    if before is not None and before.evaluation_id == named:
        return before
    found = hub.evaluations.get(named)
    if found.total_samples and not hub.evaluations.knows_batches:
        raise Conflict(
            f"{named} has {found.total_samples:,} samples, and this hub would keep both sets",
            hint="omit `--eval` to create a new evaluation",
        )
    return msgspec.structs.replace(
        fresh, evaluation_id=named, viewer_url=found.viewer_url, content=""
    )


def _find_orphan(hub: "HubClient", before: PushRecord) -> PushRecord:
    """The evaluation of a push that was interrupted before it recorded the id.

    Our hubs know the key; on others the newest evaluations are searched.
    """
    if hub.evaluations.knows_batches:
        return before
    for each in hub.evaluations.list(EvaluationQuery(limit=_NEWEST)).evaluations:
        if each.metadata.get(PUSH_KEY) == before.key:
            return msgspec.structs.replace(
                before, evaluation_id=each.evaluation_id, viewer_url=each.viewer_url
            )
    return before


def push_run(
    hub: "HubClient",
    run: SavedRun,
    options: PushOptions,
    *,
    scrub: Scrubber,
    progress: Progress,
) -> PushResult:
    """Push `run` to `hub`; a repeated call finishes an interrupted push and duplicates nothing.

    Raises PartialResult for an incomplete run, Conflict while it is being written, NotFound for an
    unknown environment or evaluation, and the hub's errors.
    """
    summary = run.summary()
    with writing(run.folder):
        if not options.partial:
            require_whole(run, summary)
        beginning = find_beginning(hub, run, options, progress)
        return _Push(hub, run, options, summary, beginning, scrub, progress).execute()


class _Push:
    """A running push; `_record` is its entry in push.json."""

    def __init__(
        self,
        hub: "HubClient",
        run: SavedRun,
        options: PushOptions,
        summary: Summary,
        beginning: PushRecord,
        scrub: Scrubber,
        progress: Progress,
    ) -> None:
        self._hub = hub
        self._run = run
        self._options = options
        self._summary = summary
        self._record = beginning
        self._scrub = scrub
        self._progress = progress
        self._content = content_of(run, options.trust)
        self._skipped: list[int] = []
        self._widened = False

    def execute(self) -> PushResult:
        was_finished = self._record.finished
        if was_finished and self._record.content == self._content:
            self._change(EvaluationUpdate())
            self._publish()
            return self._result("unchanged")
        request = self._describe()
        if self._record.evaluation_id is None:
            self._make(request)
        else:
            self._go_on(request)
        self._send()
        push_log(self._hub, self._evaluation_id, self._run.folder, self._scrub)
        done = self._hub.evaluations.finalize(self._evaluation_id, request.metrics)
        self._publish()
        self._note(finished=True, viewer_url=done.viewer_url or self._record.viewer_url)
        return self._result("updated" if was_finished else "pushed")

    @property
    def _evaluation_id(self) -> str:
        return self._record.evaluation_id or ""

    def _describe(self) -> EvaluationRequest:
        options = self._options
        environment = None
        team = find_team(self._hub, options.team) if options.team else None
        if options.run_id is None and options.evaluation_id is None:
            environment = find_published(
                self._hub,
                self._run.manifest,
                self._summary.environment,
                named=options.environment,
                progress=self._progress,
                team=team.slug if team else None,
            )
        request = describe(
            self._run,
            self._summary,
            environment,
            self._scrub,
            name=options.name,
            run_id=options.run_id,
            trust=options.trust,
        )
        request.team_id = team.team_id if team else None
        request.metadata = (request.metadata or {}) | {PUSH_KEY: self._record.key}
        return request

    def _make(self, request: EvaluationRequest) -> None:
        # Written down before it is asked for: a push that breaks off now asks with the same key.
        self._note(content=self._content, accepted=0)
        ticket = self._hub.evaluations.create(request, key=self._record.key)
        self._note(evaluation_id=ticket.evaluation_id, viewer_url=ticket.viewer_url)
        if ticket.status != PENDING:
            # It was there: pushed from here before, or from a copy of this folder.
            self._change(EvaluationUpdate(metadata=request.metadata))

    def _go_on(self, request: EvaluationRequest) -> None:
        accepted = self._record.accepted if self._record.content == self._content else 0
        if not self._hub.evaluations.knows_batches:
            # Such a hub would keep a batch twice whose answer was lost.
            held = self._hub.evaluations.samples(self._evaluation_id, SampleQuery(limit=1)).total
            accepted = max(accepted, held)
        self._note(content=self._content, accepted=accepted, finished=False)
        self._change(EvaluationUpdate(metadata=request.metadata))

    def _change(self, change: EvaluationUpdate) -> None:
        """Send the name that is given and `change`; nothing if both are empty."""
        change.name = self._options.name
        if change != EvaluationUpdate():
            self._hub.evaluations.update(self._evaluation_id, change)

    def _publish(self) -> None:
        """Show it to others, if that is wanted: as the last step, so that they see all of it."""
        if not self._options.is_public:
            return
        self._widened = not self._hub.evaluations.get(self._evaluation_id).is_public
        if self._widened:
            self._hub.evaluations.update(self._evaluation_id, EvaluationUpdate(is_public=True))

    def _send(self) -> None:
        start = self._record.accepted
        counts = self._summary.counts
        self._hub.evaluations.push(
            self._evaluation_id,
            islice(self._samples(), start, None),
            progress=self._progress,
            batch_bytes=self._options.batch_bytes,
            total=counts.scored + counts.errored - start,
            accepted=lambda count: self._note(accepted=self._record.accepted + count),
        )

    def _samples(self) -> Iterator[bytes]:
        """Every sample that fits into a request, without secrets, in a fixed order."""
        for place, row in enumerate(self._run.rows()):
            sample = self._scrub(encode_sample(row))
            if len(sample) > MOST_SAMPLE_BYTES:
                self._skipped.append(place)
            else:
                yield sample

    def _note(self, **changes: Any) -> None:
        self._record = msgspec.structs.replace(self._record, **changes)
        save_record(self._run.folder.path, self._record)

    def _result(self, status: str) -> PushResult:
        return PushResult(
            evaluation_id=self._evaluation_id,
            status=status,
            run_id=self._summary.run_id,
            path=self._summary.path,
            hub=self._hub.base_url,
            samples=self._record.accepted,
            viewer_url=None if self._hub.in_process else self._record.viewer_url,
            skipped=self._skipped,
            widened=self._widened,
        )
