"""Which project or wheel on this disk a word on the command line names."""

from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound
from prime_cli.envs.local import find_local, find_project
from tests.helpers.wild import Shape, write_project


def test_the_project_in_this_folder_comes_first(tmp_path: Path) -> None:
    here = write_project(tmp_path / "here", Shape(name="My_Env", module="my_env"))
    write_project(here / "my-env")
    assert find_local("my-env", here) == here


def test_then_the_folder_of_that_name_then_the_one_in_environments(tmp_path: Path) -> None:
    inner = write_project(tmp_path / "environments" / "my_env")
    assert find_local("my-env", tmp_path) == inner
    module = write_project(tmp_path / "my_env")
    assert find_local("my-env", tmp_path) == module
    outer = write_project(tmp_path / "my-env")
    assert find_local("my-env", tmp_path) == outer


def test_a_folder_without_a_project_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "my-env").mkdir()
    assert find_local("my-env", tmp_path) is None


def test_a_path_that_looks_like_a_reference_is_the_folder_if_there_is_one(tmp_path: Path) -> None:
    assert find_local("environments/my_env", tmp_path) is None
    folder = write_project(tmp_path / "environments" / "my_env")
    assert find_local("environments/my_env", tmp_path) == folder


def test_folders_of_environments_may_be_kept_elsewhere(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "mine" / "my_env")
    assert find_local("my-env", tmp_path, environments=Path("mine")) == folder


def test_a_wheel_is_a_path_that_must_be_there(tmp_path: Path) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    with pytest.raises(NotFound, match="no wheel"):
        find_local(wheel.name, tmp_path)
    wheel.touch()
    assert find_local(wheel.name, tmp_path) == wheel


@pytest.mark.parametrize("target", ["my-env", "my_env", "ada/my-env", "environments/my_env"])
def test_a_bare_name_is_found_below_environments(target: str, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "environments" / "my_env")
    assert find_project(target, tmp_path) == folder


def test_a_folder_here_goes_before_one_below_environments(tmp_path: Path) -> None:
    here = write_project(tmp_path / "my-env")
    write_project(tmp_path / "environments" / "my_env")
    assert find_project("my-env", tmp_path) == here


def test_no_name_means_this_folder(tmp_path: Path) -> None:
    assert find_project(None, tmp_path) == tmp_path


def test_a_name_that_is_nowhere_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no environment `lost`"):
        find_project("lost", tmp_path)


def test_a_wheel_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "x-1-py3-none-any.whl").touch()
    with pytest.raises(NotFound, match="no environment"):
        find_project("x-1-py3-none-any.whl", tmp_path)
