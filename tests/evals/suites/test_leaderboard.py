"""The one table that a suite comes to."""

import csv
import io
import json
from pathlib import Path

import msgspec

from prime_cli.evals.suites.leaderboard import csv_of, make_leaderboard, save_leaderboard
from prime_cli.evals.suites.record import CellRecord, SuiteFolder, SuiteRecord
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run


def cell_of(cwd: Path, key: str, *rewards: float | None, model: str = "org/model") -> CellRecord:
    rows = [row(index, 0, reward) for index, reward in enumerate(rewards)]
    folder = save_run(cwd, *rows, plan=msgspec.structs.replace(PLAN, model=model))
    return CellRecord(key, "finished", folder.run_id, str(folder.path.relative_to(cwd)))


def record_of(*cells: CellRecord) -> SuiteRecord:
    return SuiteRecord(
        suite_id="abcd1234", name="nightly", file="n.toml", digest="0", started="s", cells=cells
    )


def test_the_best_comes_first_and_equals_share_a_rank(tmp_path: Path) -> None:
    board = make_leaderboard(
        record_of(
            cell_of(tmp_path, "ada/wordle low", 0.0, 0.5),
            cell_of(tmp_path, "ada/wordle high", 1.0, 1.0),
            cell_of(tmp_path, "ada/wordle also-high", 1.0, 1.0),
            CellRecord("ada/wordle waiting"),
        ),
        tmp_path,
    )
    assert [(line.key.split()[1], line.rank, line.reward) for line in board.standings[:3]] == [
        ("high", 1, 1.0),
        ("also-high", 1, 1.0),
        ("low", 3, 0.25),
    ]
    assert board.standings[-1].status == "waiting"


def test_three_examples_at_one_do_not_beat_a_thousand_at_nine_tenths(tmp_path: Path) -> None:
    many = [*[1.0] * 95, *[0.0] * 5]
    board = make_leaderboard(
        record_of(
            cell_of(tmp_path, "ada/wordle few", 1.0, 1.0, 1.0),
            cell_of(tmp_path, "ada/wordle one", 1.0),
            cell_of(tmp_path, "ada/wordle builtin/oracle", *[1.0] * 100, model="builtin/oracle"),
            cell_of(tmp_path, "ada/wordle many", *many),
            CellRecord("ada/wordle waiting"),
        ),
        tmp_path,
    )
    assert [(line.key.split()[1], line.rank) for line in board.standings] == [
        ("many", 1),
        ("few", 2),
        ("one", None),
        ("builtin/oracle", None),
        ("waiting", None),
    ]


def test_errors_are_beside_the_score_and_not_in_it(tmp_path: Path) -> None:
    board = make_leaderboard(record_of(cell_of(tmp_path, "e m", 1.0, None)), tmp_path)
    (line,) = board.standings
    assert (line.reward, line.low, line.high) == (1.0, 0.5, 1.0)
    assert (line.scored, line.errored) == (1, 1)


def test_a_cost_that_is_not_known_is_not_zero(tmp_path: Path) -> None:
    board = make_leaderboard(record_of(cell_of(tmp_path, "e m", 1.0)), tmp_path)
    assert board.cost is None


def test_a_run_that_is_gone_is_reported(tmp_path: Path) -> None:
    gone = CellRecord("e m", "finished", "1f2e", "outputs/evals/e--m/1f2e")
    (line,) = make_leaderboard(record_of(gone), tmp_path).standings
    assert line.status == "missing"
    assert line.failure


def test_files_hold_what_the_table_shows(tmp_path: Path) -> None:
    board = make_leaderboard(record_of(cell_of(tmp_path, "e m", 1.0, 0.0)), tmp_path)
    folder = SuiteFolder(tmp_path)
    save_leaderboard(folder, board)
    (line,) = csv.DictReader(io.StringIO(folder.csv.read_text(encoding="utf-8")))
    assert (line["reward"], line["scored"], line["cost"]) == ("0.5", "2", "")
    assert json.loads(folder.json.read_bytes())["standings"][0]["reward"] == 0.5


def test_a_spreadsheet_takes_no_name_for_a_formula() -> None:
    board = make_leaderboard(record_of(CellRecord("=HYPERLINK(1) m")), Path())
    line = next(csv.DictReader(io.StringIO(csv_of(board))))
    assert line["environment"].startswith("'=")
