"""Layers whose wheel brings more than a package: files that say what the sandbox shows."""

from pathlib import Path

import pytest

from prime_cli.runtime.layers import Layer, base_of, below_of, prepare_dependencies, prepare_top
from prime_cli.runtime.packages import read_package
from prime_cli.runtime.pythons import python_at
from prime_cli.wire.locks import Lock
from tests.helpers.venvs import venv_python
from tests.helpers.wild import write_wheel

HOME = "tiny_env-0.1.0.data/data"


def layers_with(folder: Path, files: dict[str, str]) -> tuple[Layer, Layer]:
    """The two layers of a wheel with these `files`."""
    package = read_package(write_wheel(folder, {"tiny_env.py": "", **files}))
    lock = Lock(1, package.sha256, "0.1.14", "v0", "3.11", "test", ())
    python = python_at(venv_python("pip"))
    below = prepare_dependencies(folder / "home", lock, python, offline=True)
    return prepare_top(folder / "home", package, (), below, python), below


@pytest.mark.network
def test_a_wheel_does_not_say_which_python_it_runs_in(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    said = f"home = {tmp_path}/keys\nversion_info = 3.11.7\n"
    top, below = layers_with(tmp_path, {f"{HOME}/pyvenv.cfg": said})
    assert base_of(top.folder) == base_of(below.folder)
    assert tmp_path not in base_of(top.folder)


@pytest.mark.network
def test_a_wheel_does_not_say_which_layer_it_stands_on(tmp_path: Path) -> None:
    way_out = str(tmp_path / "home" / "interpreters" / ".." / "a" / "b" / "c")
    line = f"import site; site.addsitedir({way_out!r})\n"
    brought = f"{HOME}/lib/python0/site-packages/prime_dependencies.pth"
    top, below = layers_with(tmp_path, {brought: line})
    assert below_of(top.folder) == below.folder


@pytest.mark.network
def test_no_code_of_a_wheel_runs_while_its_layer_is_made(tmp_path: Path) -> None:
    telltale = tmp_path / "telltale"
    code = f"import os; open({str(telltale)!r}, 'w').close()\n"
    layers_with(tmp_path, {"prime_telltale.pth": code, "sitecustomize.py": code})
    assert not telltale.exists()
