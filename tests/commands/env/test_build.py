from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.venvs import empty_cache
from tests.helpers.wild import WILD, Shape, write_project


def test_a_name_below_environments_is_built_into_its_dist(prime: Prime, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "environments" / "tiny_env")
    result = prime("env", "build", "tiny-env", "--no-check", "--output", "json", cwd=tmp_path).ok()
    (wheel,) = (folder / "dist").iterdir()
    assert Path(result.json["path"]) == wheel
    assert {key: result.json[key] for key in ("name", "version", "module", "generation")} == {
        "name": "tiny-env",
        "version": "0.1.0",
        "module": "tiny_env",
        "generation": "v0",
    }
    assert "prime env upload tiny-env" in result.err


def test_a_wheel_goes_where_the_user_says(prime: Prime, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "tiny")
    prime("env", "build", "--no-check", "--out-dir", "../wheels", cwd=folder).ok()
    assert [path.suffix for path in (tmp_path / "wheels").iterdir()] == [".whl"]
    assert not (folder / "dist").exists()


def test_nothing_but_data_is_written_to_stdout(prime: Prime, tmp_path: Path) -> None:
    result = prime("env", "build", str(write_project(tmp_path)), "--no-check").ok()
    assert result.out == ""
    assert "Built " in result.err


EMPTY = """
[project]
name = "x"
version = "1"

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
"""

BAD = {
    "no project": (None, 2, "There is no pyproject.toml"),
    "broken TOML": ("[project\n", 2, "pyproject.toml:1:9"),
    "no version": ('[project]\nname = "x"\n', 2, "no version"),
    "an empty project": (EMPTY, 9, "The build of `x` failed"),
}


@pytest.mark.parametrize(("text", "code", "said"), BAD.values(), ids=BAD)
def test_a_project_that_cannot_be_built_says_why(
    text: str | None, code: int, said: str, prime: Prime, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    result = prime("env", "build", "--no-check", cwd=tmp_path)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert "hint: " in result.err


def test_a_package_without_an_environment_exits_9(prime: Prime, tmp_path: Path) -> None:
    folder = write_project(tmp_path, WILD["not-an-environment"])
    result = prime("env", "build", str(folder), "--no-check")
    assert result.code == 9
    assert "exposes no environment" in result.err


def test_a_backend_that_cannot_be_fetched_offline_exits_5(
    prime: Prime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(empty_cache(tmp_path / "empty-cache")))
    folder = write_project(tmp_path / "p", Shape(backend="flit"))
    result = prime("env", "build", str(folder), "--offline", "--no-check")
    assert result.code == 5
    assert "not in uv's cache" in result.err
