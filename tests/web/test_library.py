from pathlib import Path

import pytest

from prime_cli.web.library import Library
from prime_cli.web.run_list import view_runs
from tests.runs.rows import row
from tests.runs.saving import save_run


def test_a_list_of_runs_looks_for_their_folders_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {save_run(tmp_path, row(0)).run_id for _ in range(5)}
    looked: list[Path] = []
    resolve = Path.resolve

    def counted(path: Path, strict: bool = False) -> Path:
        looked.append(path)
        return resolve(path, strict)

    monkeypatch.setattr(Path, "resolve", counted)
    view = view_runs(Library(tmp_path), {})

    assert {line.name for line in view.runs.shown} == runs
    assert len([path for path in looked if path.name in runs]) <= 2 * len(runs)
