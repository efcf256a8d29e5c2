from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.runs.manifest import RUNNING
from prime_cli.web.library import Library
from prime_cli.web.reins import steer
from tests.runs.rows import row
from tests.runs.saving import save_run


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("concurrency", "nan", "`nan` is not a number of rollouts"),
        ("concurrency", "1.5", "`1.5` is not a number of rollouts"),
        ("max_cost", "much", "`much` is not a number"),
    ],
)
def test_what_is_no_number_is_refused_before_the_run_is_asked(
    field: str, typed: str, told: str, tmp_path: Path
) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING)
    run = Library(tmp_path).find(folder.run_id)
    with pytest.raises(UsageError, match=told):
        steer(run, {"action": "set", field: typed})
