"""A saved run as an evaluation on a hub: made once, filled in batches, finished."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from prime_cli.accounts.teams import find_team
from prime_cli.api.evaluations import MOST_SAMPLE_BYTES
from prime_cli.core.progress import Progress
from prime_cli.evals.sharing.described import PUSH_KEY, describe
from prime_cli.evals.sharing.identity import content_of
from prime_cli.evals.sharing.logs import push_log
from prime_cli.evals.sharing.options import PushOptions, PushResult
from prime_cli.evals.sharing.published import find_published
from prime_cli.evals.sharing.push_start import find_beginning
from prime_cli.evals.sharing.records import PushRecord, save_record
from prime_cli.evals.sharing.samples import encode_sample
from prime_cli.evals.sharing.wholeness import require_whole
from prime_cli.runs.folder import writing
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.summary import Summary
from prime_cli.wire.evaluations import PENDING, EvaluationRequest, EvaluationUpdate

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


def push_run(
    hub: "HubClient",
    run: SavedRun,
    options: PushOptions,
    *,
    scrub: Scrubber,
    progress: Progress,
) -> PushResult:
    """Push `run` to `hub`; the same call again finishes what broke off, and makes nothing twice.

    Raises PartialResult for a run that is not whole, Conflict while it is being written, NotFound
    for an environment or evaluation that the hub does not have, and what the hub refuses.
    """
    summary = run.summary()
    with writing(run.folder):
        if not options.partial:
            require_whole(run, summary)
        beginning = find_beginning(hub, run, options, progress)
        return _Push(hub, run, options, summary, beginning, scrub, progress).execute()


class _Push:
    """One push while it is going; `_record` is what push.json says of it."""

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
        self._content = content_of(run)
        self._skipped: list[int] = []

    def execute(self) -> PushResult:
        was_finished = self._record.finished
        if was_finished and self._record.content == self._content:
            self._change(EvaluationUpdate())
            return self._result("unchanged")
        request = self._describe()
        if self._record.evaluation_id is None:
            self._make(request)
        else:
            self._go_on(request)
        self._send()
        push_log(self._hub, self._evaluation_id, self._run.folder, self._scrub)
        done = self._hub.evaluations.finalize(self._evaluation_id, request.metrics)
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
            is_public=options.is_public,
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
            held = self._hub.evaluations.samples(self._evaluation_id, limit=1).total
            accepted = max(accepted, held)
        self._note(content=self._content, accepted=accepted, finished=False)
        self._change(EvaluationUpdate(metadata=request.metadata))

    def _change(self, change: EvaluationUpdate) -> None:
        """Say what the flags say, and `change`; nothing where there is nothing to say."""
        change.name = self._options.name
        change.is_public = True if self._options.is_public else None
        if change != EvaluationUpdate():
            self._hub.evaluations.update(self._evaluation_id, change)

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
        """Every sample that fits into a request, without secrets; the same ones each time."""
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
        )
