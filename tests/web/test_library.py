import os
import sys
from pathlib import Path

import pytest

from prime_cli.web.library import Library
from prime_cli.web.run_list import view_runs
from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.web.trainings import save_training


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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
def test_a_folder_whose_name_is_not_utf_8_is_listed_and_found(tmp_path: Path) -> None:
    run = save_run(tmp_path, row(0)).path
    odd = run.with_name(os.fsdecode(b"od\xffd"))
    run.rename(odd)
    library = Library(tmp_path)
    (line,) = view_runs(library, {}).runs.shown
    assert line.path == "/runs/od%3Fd"
    assert library.find(line.name).path == odd


def test_a_training_whose_folder_was_renamed_is_found(tmp_path: Path) -> None:
    training = save_training(tmp_path)[0].path
    renamed = training.with_name("renamed")
    training.rename(renamed)
    library = Library(tmp_path)
    (line,) = view_runs(library, {}).trainings.shown
    assert line.path == "/trainings/renamed"
    assert library.find(line.name).path == renamed
