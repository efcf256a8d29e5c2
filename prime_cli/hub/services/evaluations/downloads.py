"""An evaluation as a file: its samples as they were pushed, or as a run is exported."""

from pathlib import Path

import msgspec
from msgspec import Struct
from sqlalchemy import func, select

from prime_cli.core.errors import TooLarge
from prime_cli.core.formatting import format_bytes
from prime_cli.core.paths import storage_errors
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import samples
from prime_cli.hub.services.evaluations.queries import find_evaluation, get_evaluation
from prime_cli.hub.services.evaluations.sample_queries import read_numbers, read_samples
from prime_cli.runs.export.exports import JSON_LINES, write_download
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.saved_run import open_run
from prime_cli.wire.codec import encode
from prime_cli.wire.evaluations import EvaluationDetail

_LARGEST = 64 * 1024 * 1024
"""Bytes of samples that are made into another form; as JSON lines they may be any number."""


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
