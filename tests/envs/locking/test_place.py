"""Which prime.lock and which list of pyproject.toml count for a folder."""

import os
from pathlib import Path

import pytest

from prime_cli.core.errors import BadProject, BadReference
from prime_cli.core.refs import EnvRef
from prime_cli.envs.locking.file import FILENAME, make_lock, write_lock
from prime_cli.envs.locking.place import find_lock, find_place


def write_list(folder: Path, *refs: str) -> None:
    listed = ", ".join(f'"{ref}"' for ref in refs)
    text = f"[tool.prime]\nenvironments = [{listed}]\n"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def test_the_list_of_pyproject_is_what_is_wanted(tmp_path: Path) -> None:
    write_list(tmp_path, "ada/wordle", "ada/maths@1.0")
    below = tmp_path / "notebooks"
    below.mkdir()
    place = find_place(below)
    assert place.folder == tmp_path
    assert place.lock is None
    assert place.wanted == (EnvRef("ada", "wordle"), EnvRef("ada", "maths", "1.0"))


def test_a_project_inside_of_the_workspace_has_its_lock(tmp_path: Path) -> None:
    write_lock(tmp_path / FILENAME, make_lock([]))
    project = tmp_path / "environments" / "mine"
    project.mkdir(parents=True)
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\n', encoding="utf-8")
    assert find_place(project).folder == tmp_path
    assert find_lock(project) == make_lock([])


def test_a_lock_is_begun_beside_pyproject_else_here(tmp_path: Path) -> None:
    below = tmp_path / "project" / "notebooks"
    below.mkdir(parents=True)
    assert find_place(below).folder == below
    (tmp_path / "project" / "pyproject.toml").write_text("", encoding="utf-8")
    assert find_place(below).folder == tmp_path / "project"


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing elsewhere")
def test_what_anybody_could_have_left_above_is_not_obeyed(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    here = shared / "mine"
    here.mkdir(parents=True)
    write_lock(shared / FILENAME, make_lock([]))
    assert find_lock(here) is not None
    shared.chmod(0o1777)
    assert find_lock(here) is None
    assert find_place(here).folder == here
    assert find_lock(shared) is not None


@pytest.mark.parametrize(
    ("refs", "error"),
    [(("ada/wordle", "ada/Wordle@2"), BadProject), (("wordle",), BadReference)],
)
def test_a_list_that_cannot_be_meant_is_refused(
    refs: tuple[str, ...], error: type[Exception], tmp_path: Path
) -> None:
    write_list(tmp_path, *refs)
    with pytest.raises(error):
        find_place(tmp_path)
