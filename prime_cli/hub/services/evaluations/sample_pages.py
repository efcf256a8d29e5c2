"""The samples of an evaluation for its pages, which commands have no use for.

A page also links to all of them as a file: as they were pushed, or as a run is exported.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from prime_cli.core.errors import NotFound, TooLarge, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.core.paths import storage_errors
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluations, samples
from prime_cli.hub.services.evaluations import queries
from prime_cli.hub.services.evaluations.cache import Cache
from prime_cli.hub.services.evaluations.queries import find_evaluation, get_evaluation
from prime_cli.hub.services.evaluations.sample_queries import (
    read_numbers,
    read_samples,
    sample_conditions,
)
from prime_cli.pages.evaluation import EvaluationSamples, Overview, SampleColumns
from prime_cli.pages.links import evaluation_path, sample_path, whole_number
from prime_cli.pages.rollout import RolloutContent, RolloutSample, view_rollout
from prime_cli.pages.run_page import ExampleTexts, Wanted, list_examples, texts_of
from prime_cli.pages.runs import Fact, Link
from prime_cli.pages.samples import count_errors, sample_of, view_sample
from prime_cli.runs.export.exports import JSON_LINES, write_download
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.runs.saved_run import open_run
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.evaluations import EvaluationDetail, SampleQuery

_LISTED = 50_000
_DRAWN_METRICS = 2_000
_FAILED = 200
_LARGEST_FAILED = 32 * 1024
_LINE = (
    samples.c.number,
    samples.c.identity,
    samples.c.reward,
    samples.c.failed,
    samples.c.size,
)
_SCORES = msgspec.json.Decoder(dict[str, float])
_LARGEST = 64 * 1024 * 1024
"""Bytes of samples that are made into another form; as JSON lines they may be any number."""


def read_page(
    hub: Hub, caller: Caller, evaluation_id: str, query: SampleQuery, wanted: Wanted
) -> tuple[EvaluationDetail, EvaluationSamples]:
    """An evaluation, a page of its examples, and an overview of all, of one moment.

    `query` is the filter of `wanted` as far as samples are asked one by one. Raises NotFound.
    """
    while True:
        with hub.database.read() as connection:
            evaluation = queries.find_evaluation(connection, caller, evaluation_id)
            environments = connection.execute(queries.select_evaluated([evaluation.id])).all()
        # Without a connection, since it may wait for another thread to compute the same.
        with suppress(_Changed):
            state = _state_of(evaluation)
            overview = _overviews.get(state, partial(_overview, hub, evaluation))
            detail = queries.describe_evaluation(hub, evaluation, environments)
            examples = _Examples(hub, caller, detail, overview.samples, state)
            matching = examples.matching(query, wanted.filter.only)
            table = list_examples(examples, matching, wanted, evaluation_path(evaluation.id))
            found = len(overview.samples.numbers if matching is None else matching)
            return detail, EvaluationSamples(table, found, overview)


class _Examples:
    """The samples of an evaluation, as its page lists them by example.

    Raises _Changed once it is no longer in `state`, which `listed` is of.
    """

    def __init__(
        self,
        hub: Hub,
        caller: Caller,
        detail: EvaluationDetail,
        listed: SampleColumns,
        state: tuple[Any, ...],
    ) -> None:
        self._hub, self._caller, self._detail, self._listed = hub, caller, detail, listed
        self._state = state
        self._mine = samples.c.evaluation_id == detail.evaluation_id
        self.columns = listed.columns
        # Relative to the page's address: hundreds of them are most of its bytes.
        self.folder = f"{evaluation_path(detail.evaluation_id).rpartition('/')[2]}/samples/"

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._hub.database.read() as connection:
            _require_state(connection, self._detail.evaluation_id, self._state)
            yield connection

    def matching(self, query: SampleQuery, only: str) -> Sequence[int] | None:
        """The places of the samples with an outcome that pass a filter; None for all."""
        conditions = sample_conditions(query)
        if only == "truncated":
            conditions.append(_TRUNCATED)
        kept: Sequence[int] | None = None
        if conditions:
            found = select(samples.c.number).where(self._mine, *conditions)
            with self._read() as connection:
                numbers = frozenset(connection.execute(found).scalars())
            kept = [at for at, number in enumerate(self._listed.numbers) if number in numbers]
        if only in ("", "truncated"):
            return kept
        having = self.columns.having(only)
        return having if kept is None else sorted({*having} & {*kept})

    def name(self, row: int) -> str:
        return self._listed.names[row]

    def key(self, place: int) -> str:
        return str(self._listed.numbers[place])

    def label(self, place: int) -> str:
        return f"rollout {self._listed.rollouts[place]}"

    def find(self, key: str) -> int | None:
        number, numbers = whole_number(key), self._listed.numbers
        return numbers.index(number) if number in numbers else None

    def read(self, places: Sequence[int]) -> Sequence[ExampleTexts]:
        lengths = accumulate(self.columns.lengths[place] for place in places)
        kept = sum(length <= _MOST_READ for length in lengths)
        numbers = [self._listed.numbers[place] for place in places]
        wanted = self._mine, samples.c.number.in_(numbers[:kept])
        with self._read() as connection:
            rows = connection.execute(select(samples.c.number, samples.c.body).where(*wanted))
            bodies = {row.number: row.body for row in rows}
        return [_texts(bodies.get(number, "")) for number in numbers]

    def view(self, place: int, share: int) -> RolloutContent:
        number, detail = self._listed.numbers[place], self._detail
        found = read_sample(self._hub, self._caller, detail.evaluation_id, number)
        with self._read():
            pass  # it is of this state still
        try:
            return view_sample(detail, *found, share=share)
        except (TooLarge, UsageError) as error:
            path = evaluation_path(detail.evaluation_id)
            nothing = RolloutSample(error=Fact("Not shown", error.message))
            run, title = Link(detail.name, path), self.label(place)
            return view_rollout(nothing, path=sample_path(path, number), run=run, title=title)


_MOST_READ = 8 << 20
"""Bytes of the samples whose texts a page shows."""
_TRUNCATED = or_(*(samples.c.body.contains(f'"is_truncated":{space}true') for space in ("", " ")))
"""As JSON is written with and without spaces; a quote within a text has a backslash."""


def _texts(body: str) -> ExampleTexts:
    try:
        return texts_of(sample_of(decode(body.encode(), dict[str, Any])))
    except UsageError:  # such as 1e999, or a sample that was deleted since
        return ExampleTexts()


_overviews: Cache[Overview] = Cache(24)
"""Those of the first thousands of samples, until these change."""


class _Changed(Exception):
    """Samples came or were replaced since an evaluation was read."""


def _state_of(evaluation: Row[Any]) -> tuple[Any, ...]:
    """Every push writes another."""
    return evaluation.id, evaluation.updated_at, evaluation.sample_count, evaluation.summary


def _require_state(connection: Connection, evaluation_id: str, state: tuple[Any, ...]) -> None:
    """Raise _Changed for an evaluation that has another."""
    now = select(evaluations).where(evaluations.c.id == evaluation_id)
    row = connection.execute(now).one_or_none()
    if row is None or _state_of(row) != state:
        raise _Changed


def _overview(hub: Hub, evaluation: Row[Any]) -> Overview:
    """That of the samples of an evaluation; raises _Changed."""
    count = evaluation.sample_count
    mine = samples.c.evaluation_id == evaluation.id
    summary = queries.summarize(evaluation)
    errors = summary.errors if summary is not None else 0
    scores = select(samples.c.scores).where(mine, samples.c.number <= _DRAWN_METRICS)
    with hub.database.read() as connection:
        _require_state(connection, evaluation.id, _state_of(evaluation))
        every = _lines(connection, mine, samples.c.number <= _LISTED)
        texts = connection.execute(scores.order_by(samples.c.number)).scalars().all()
        kinds = count_errors(_errors(connection, mine)) if errors else []
    return Overview.of(every, _columns(texts), total=count, errors=errors, kinds=kinds)


def _errors(connection: Connection, mine: ColumnElement[bool]) -> Iterator[Any]:
    """The errors of the first failed samples that are not too large, and can be read."""
    wanted = mine, samples.c.failed, samples.c.size <= _LARGEST_FAILED
    bodies = select(samples.c.body).where(*wanted).order_by(samples.c.number).limit(_FAILED)
    for body in connection.execute(bodies).scalars():
        try:
            yield decode(body.encode(), _Failed).error
        except UsageError:  # such as 1e999; the page says how many errors it lists
            continue


class _Failed(Struct):
    error: Any = None


def read_sample(
    hub: Hub, caller: Caller, evaluation_id: str, number: int
) -> tuple[SampleLine, bytes, int]:
    """One sample, its JSON, and the number of all; raises NotFound."""
    with hub.database.read() as connection:
        evaluation = queries.find_evaluation(connection, caller, evaluation_id)
        row = connection.execute(
            select(*_LINE, samples.c.body).where(
                samples.c.evaluation_id == evaluation.id, samples.c.number == number
            )
        ).one_or_none()
    if row is None:
        raise NotFound(f"Evaluation `{evaluation_id}` has no sample {number}")
    return SampleLine(*row[:-1]), row.body.encode(), evaluation.sample_count


def _lines(connection: Connection, *wanted: ColumnElement[bool]) -> list[SampleLine]:
    rows = connection.execute(select(*_LINE).where(*wanted).order_by(samples.c.number))
    return [SampleLine(*row) for row in rows]


def _columns(texts: Sequence[str]) -> dict[str, list[float]]:
    """The values of each metric, those of most samples first."""
    found: dict[str, list[float]] = {}
    for text in texts:
        for name, value in _SCORES.decode(text).items():
            found.setdefault(name, []).append(value)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


class Parts(Struct, frozen=True):
    """The samples of an evaluation: their numbers in groups that fit into memory."""

    evaluation_id: str
    groups: tuple[tuple[int, ...], ...]


def find_parts(hub: Hub, caller: Caller, evaluation_id: str) -> Parts:
    """All samples of an evaluation; raises NotFound."""
    with hub.database.read() as connection:
        evaluation = find_evaluation(connection, caller, evaluation_id)
        return Parts(evaluation.id, tuple(read_numbers(connection, evaluation.id)))


def read_lines(hub: Hub, evaluation_id: str, numbers: tuple[int, ...]) -> bytes:
    """These samples, each on a line of its own."""
    found = read_samples(hub, evaluation_id, numbers)
    # A sample is kept as it was pushed, and may be JSON of several lines.
    return b"".join(msgspec.json.format(each, indent=-1) + b"\n" for each in found)


def write_evaluation(hub: Hub, caller: Caller, evaluation_id: str, form: str, folder: Path) -> Path:
    """Write an evaluation into the empty `folder` in a form other than JSON lines.

    Returns the file. Raises NotFound, TooLarge, and UsageError without pyarrow.
    """
    detail = get_evaluation(hub, caller, evaluation_id)
    parts = find_parts(hub, caller, evaluation_id)
    _check_size(hub, detail)
    run = RunFolder(folder / detail.evaluation_id)
    with storage_errors(run.path):
        run.path.mkdir()
        run.metadata.write_bytes(encode(_metadata(detail)))
        with run.results.open("wb") as file:
            for group in parts.groups:
                file.write(read_lines(hub, parts.evaluation_id, group))
    return write_download(open_run(run.path), form, folder)


def _check_size(hub: Hub, detail: EvaluationDetail) -> None:
    mine = samples.c.evaluation_id == detail.evaluation_id
    with hub.database.read() as connection:
        size = connection.execute(select(func.sum(samples.c.size)).where(mine)).scalar() or 0
    if size > _LARGEST:
        raise TooLarge(
            f"These samples are {format_bytes(size)}, more than the {format_bytes(_LARGEST)} that "
            "the hub converts",
            hint=f"download {JSON_LINES}, or save it with `prime eval get {detail.evaluation_id} "
            "--save` and convert it with `prime eval export`",
        )


def _metadata(detail: EvaluationDetail) -> dict[str, object]:
    """What vf-eval writes beside its results, as far as the hub knows it."""
    environment = detail.environment_names[0] if detail.environment_names else None
    known = {"env_id": environment, "model": detail.model_name, "date": detail.created_at}
    return known | detail.metadata
