"""A suite, and records of it as they are kept below a folder."""

from pathlib import Path
from typing import Any

from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.suites.definition import Suite, SuiteCell, SuiteLimits
from prime_cli.evals.suites.record import (
    INTERRUPTED,
    CellRecord,
    SuiteRecord,
    new_suite_folder,
    save_record,
)

CELLS = tuple(SuiteCell(key, EvalRequest(key.split()[0])) for key in ("a m", "b m"))
SUITE = Suite("nightly", Path("nightly.toml"), SuiteLimits(), CELLS)


def kept(cwd: Path, *, started: str = "2026-01-01T00:00:00+00:00", **fields: Any) -> SuiteRecord:
    """An interrupted run of SUITE below `cwd`; `fields` of its record as told."""
    folder = new_suite_folder(SUITE, cwd)
    told: dict[str, Any] = {"digest": SUITE.digest, "status": INTERRUPTED} | fields
    record = SuiteRecord(
        suite_id=folder.suite_id,
        name="nightly",
        file="nightly.toml",
        started=started,
        cells=(CellRecord("a m"), CellRecord("b m")),
        **told,
    )
    save_record(folder, record)
    return record
