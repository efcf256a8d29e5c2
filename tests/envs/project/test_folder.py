"""Which project or wheel on this disk a word on the command line names."""

from pathlib import Path

import pytest

from prime_cli.core.errors import BadProject, NotFound
from prime_cli.envs.project.folder import find_local, find_project, load_project
from tests.helpers.wild import WILD, Shape, write_project


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


MODULES = {
    "capitals": "bigbench_bbh",
    "folder-differs": "tau_bench",
    "src": "tiny_env",
    "v1": "tiny_env",
    "data-files": "tiny_env",
}


@pytest.mark.parametrize(("shape", "module"), MODULES.items(), ids=MODULES)
def test_the_module_is_the_one_that_exposes_an_environment(
    shape: str, module: str, tmp_path: Path
) -> None:
    assert load_project(write_project(tmp_path, WILD[shape])).module == module


def test_a_project_without_an_environment_has_its_own_name_for_a_module(tmp_path: Path) -> None:
    project = load_project(write(tmp_path, '[project]\nname = "Some-Env"\nversion = "1"\n'))
    assert project.module == "some_env"


def test_everything_that_publishing_needs_is_read(tmp_path: Path) -> None:
    tables = """
        [tool.verifiers.eval]
        num_examples = -1
        temperature = 0.5

        [tool.uv.sources]
        six = { path = "six" }

        [tool.prime]
        allow-secrets = ["tests/*"]
    """
    shape = Shape(project='license = { text = "MIT" }', tables=tables, tags=("a", "b"))
    project = load_project(write_project(tmp_path, shape))
    assert (project.name, project.version, project.tags) == ("tiny-env", "0.1.0", ("a", "b"))
    assert project.description == "A tiny environment"
    assert project.license == {"text": "MIT"}
    assert project.dependencies == ("verifiers",)
    assert project.requires_python == ">=3.11"
    assert project.eval_defaults == {"num_examples": -1, "temperature": 0.5}
    assert [source.name for source in project.uv_sources] == ["six"]
    assert project.allowed_secrets == ("tests/*",)
    assert project.has_readme


def test_tags_may_stand_where_every_backend_accepts_them(tmp_path: Path) -> None:
    shape = Shape(backend="setuptools", tables='[tool.prime]\ntags = ["a"]')
    assert load_project(write_project(tmp_path, shape)).tags == ("a",)


def test_a_dynamic_version_is_none(tmp_path: Path) -> None:
    assert load_project(write_project(tmp_path, WILD["dynamic-version"])).version is None


def test_a_byte_order_mark_is_not_an_error(tmp_path: Path) -> None:
    write(tmp_path, '\ufeff[project]\nname = "x"\nversion = "1"\n')
    assert load_project(tmp_path).name == "x"


BAD = {
    "no table": ("", "has no \\[project\\] table"),
    "a table of another kind": ("project = 1\n", "has no \\[project\\] table"),
    "no name": ('[project]\nversion = "1"\n', "has no project name"),
    "an empty name": ('[project]\nname = ""\nversion = "1"\n', "has no project name"),
    "a name that is no name": ('[project]\nname = "a b"\nversion = "1"\n', "`a b` .* cannot be"),
    "no version": ('[project]\nname = "x"\n', "has no version"),
    "a version that is none": (
        '[project]\nname = "x"\nversion = "one"\n',
        "`one` .* not a version",
    ),
    "a version of another kind": (
        '[project]\nname = "x"\nversion = 1\n',
        "`version` .* be a string",
    ),
    "dependencies as text": (
        '[project]\nname = "x"\nversion = "1"\ndependencies = "a"\n',
        "`dependencies` .* list of strings",
    ),
    "too few examples": (
        '[project]\nname="x"\nversion="1"\n[tool.verifiers.eval]\nnum_examples = -2\n',
        "`num_examples` .* whole number",
    ),
    "broken TOML": ('[project]\nname = "x"\nversion = \n', "pyproject.toml:3:11: Invalid value"),
    "TOML that ends early": ('[project]\nname = "x', "pyproject.toml"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_reported_with_the_file_and_a_hint(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(BadProject, match=said) as caught:
        load_project(write(tmp_path, text))
    assert "pyproject.toml" in caught.value.message
    assert caught.value.exit_code == 2


def test_a_folder_without_a_pyproject_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadProject, match=r"There is no pyproject\.toml in"):
        load_project(tmp_path)


def test_toml_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b'[project]\nname = "\xff"\n')
    with pytest.raises(BadProject, match="not UTF-8"):
        load_project(tmp_path)


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
    with pytest.raises(NotFound, match="No environment `lost`"):
        find_project("lost", tmp_path)


def test_a_wheel_is_not_a_project(tmp_path: Path) -> None:
    (tmp_path / "x-1-py3-none-any.whl").touch()
    with pytest.raises(NotFound, match="No environment"):
        find_project("x-1-py3-none-any.whl", tmp_path)
