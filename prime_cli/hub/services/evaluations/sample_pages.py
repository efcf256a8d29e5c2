"""The samples of an evaluation for its pages, which commands have no use for.

A page also links to all of them as a file: as they were pushed, or as a run is exported.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, func, select

from prime_cli.core.errors import NotFound, TooLarge, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.core.paths import storage_errors
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import evaluations, samples
from prime_cli.hub.services.evaluations import queries
from prime_cli.hub.services.evaluations.cache import Cache
from prime_cli.hub.services.evaluations.queries import find_evaluation, get_evaluation
from prime_cli.hub.services.evaluations.sample_queries import find_rows, read_numbers, read_samples
from prime_cli.pages.evaluation import EvaluationSamples, Overview
from prime_cli.pages.samples import count_errors
from prime_cli.runs.export.exports import JSON_LINES, write_download
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.sample_lines import SampleLine
from prime_cli.runs.saved_run import open_run
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.evaluations import EvaluationDetail, SampleQuery

_DRAWN = 10_000
_DRAWN_METRICS = 2_000
_FAILED = 200
_LARGEST_FAILED = 32 * 1024
_LINE = (samples.c.number, samples.c.identity, samples.c.reward, samples.c.failed)
_SCORES = msgspec.json.Decoder(dict[str, float])
_LARGEST = 64 * 1024 * 1024
"""Bytes of samples that are made into another form; as JSON lines they may be any number."""


def read_page(
    hub: Hub, caller: Caller, evaluation_id: str, query: SampleQuery
) -> tuple[EvaluationDetail, EvaluationSamples]:
    """An evaluation, a page of samples without their bodies, and an overview, of one moment.

    Raises NotFound.
    """
    while True:
        with hub.database.read() as connection:
            evaluation = queries.find_evaluation(connection, caller, evaluation_id)
            environments = connection.execute(queries.select_evaluated([evaluation.id])).all()
            rows, total = find_rows(connection, evaluation, query)
            mine = samples.c.evaluation_id == evaluation.id
            numbers = [row.number for row in rows]
            shown = _lines(connection, mine, samples.c.number.in_(numbers))
        # Without a connection, since it may wait for another thread to compute the same.
        with suppress(_Changed):
            overview = _overviews.get(_state_of(evaluation), partial(_overview, hub, evaluation))
            detail = queries.describe_evaluation(hub, evaluation, environments)
            return detail, EvaluationSamples(shown, total, overview)


_overviews: Cache[Overview] = Cache(64)
"""Those of the first thousands of samples, until these change."""


class _Changed(Exception):
    """Samples came or were replaced since an evaluation was read."""


def _state_of(evaluation: Row[Any]) -> tuple[Any, ...]:
    """Every push writes another."""
    return evaluation.id, evaluation.updated_at, evaluation.sample_count, evaluation.summary


def _overview(hub: Hub, evaluation: Row[Any]) -> Overview:
    """That of the samples of an evaluation; raises _Changed."""
    count = evaluation.sample_count
    mine = samples.c.evaluation_id == evaluation.id
    summary = queries.summarize(evaluation)
    errors = summary.errors if summary is not None else 0
    scores = select(samples.c.scores).where(mine, samples.c.number <= _DRAWN_METRICS)
    now = select(evaluations).where(evaluations.c.id == evaluation.id)
    with hub.database.read() as connection:
        row = connection.execute(now).one_or_none()
        if row is None or _state_of(row) != _state_of(evaluation):
            raise _Changed
        every = _lines(connection, mine, samples.c.number <= _DRAWN)
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
