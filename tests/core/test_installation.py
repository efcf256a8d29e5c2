"""How prime is installed, and the commands that its hints name for it."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.installation import (
    Installation,
    Manager,
    install_command,
    read_installation,
    require,
)

CHECKOUT = {"url": "file:///home/ada/my%20prime", "dir_info": {}}


def installed(folder: Path, origin: Mapping[str, object] | None = None) -> Installation:
    """What is read of an environment in `folder`, as seen without uv on PATH."""
    python = folder / "bin" / "python"
    python.parent.mkdir(exist_ok=True)
    (folder / "bin" / ("uv.exe" if sys.platform == "win32" else "uv")).touch()
    found = read_installation(folder, python, origin or {})
    return replace(found, environ={"PATH": ""}, here=folder.parent)


def test_what_is_installed_is_not_requested() -> None:
    require("hf", "Reading JSON", "json", "csv")


def test_what_is_missing_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(UsageError) as caught:
        require("hf", "Writing Parquet", "json", "no_such_module", "nor_this_one")
    assert caught.value.message == (
        "Writing Parquet needs no_such_module and nor_this_one, which are not installed"
    )
    assert install_command("hf") in (caught.value.hint or "")


def test_a_uv_tool_is_reinstalled_with_its_extras(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "prime-cli", extras = ["tui"] },'
        ' { name = "httpx", extras = ["socks"], specifier = ">=0.28" }]\n'
    )
    tool = installed(tmp_path)
    assert tool.manager is Manager.UV_TOOL
    assert shlex.join(tool.add_extra("stats")) == (
        "uv tool install './prime[stats,tui]' --with 'httpx[socks]>=0.28'"
    )
    assert tool.update() == (("uv", "tool", "upgrade", "prime-cli"),)


RECEIPT = """[tool]
requirements = [
  { name = "prime-cli" },
  { name = "one", extras = ["x"], editable = "/home/ada/one" },
  { name = "two", directory = "/home/ada/my two" },
  { name = "three", path = "/home/ada/three-1-py3-none-any.whl" },
  { name = "four", git = "https://git.example.org/four?subdirectory=py&rev=v1" },
  { name = "five", git = "https://git.example.org/five", marker = "python_version < '3.13'" },
]
"""


def test_a_uv_tool_keeps_what_came_from_elsewhere_than_an_index(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT)
    words = installed(tmp_path).add_package("one")
    assert words[4:] == (
        *("--with-editable", "/home/ada/one[x]"),
        *("--with", "two @ file:///home/ada/my%20two"),
        *("--with", "three @ file:///home/ada/three-1-py3-none-any.whl"),
        *("--with", "four @ git+https://git.example.org/four@v1#subdirectory=py"),
        *("--with", "five @ git+https://git.example.org/five ; python_version < '3.13'"),
        *("--with", "one"),
    )


def test_a_uv_tool_of_a_checkout_is_reinstalled_from_it(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "prime-cli", editable = "/home/ada/my prime" }]\n'
    )
    tool = installed(tmp_path, CHECKOUT | {"dir_info": {"editable": True}})
    assert shlex.join(tool.add_extra("hub")) == (
        "uv tool install --editable '/home/ada/my prime[hub]'"
    )
    assert tool.update() == (("uv", "tool", "upgrade", "--reinstall", "prime-cli"),)


def test_pipx_is_asked_to_install_with_the_extras_that_it_knows(tmp_path: Path) -> None:
    asked = {"main_package": {"package_or_url": "prime-cli[tui]"}}
    (tmp_path / "pipx_metadata.json").write_text(json.dumps(asked))
    pipx = installed(tmp_path)
    assert shlex.join(pipx.add_extra("hf")) == "pipx install --force './prime[hf,tui]'"
    assert shlex.join(pipx.add_package("httpx[socks]")) == "pipx inject prime-cli 'httpx[socks]'"
    assert pipx.update() == (("pipx", "upgrade", "prime-cli"),)


def test_a_virtual_environment_is_named_since_it_may_not_be_active(tmp_path: Path) -> None:
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / "pyvenv.cfg").touch()
    venv = installed(folder)
    assert shlex.join(venv.add_extra("tui")) == (
        ".venv/bin/uv pip install --python .venv/bin/python './prime[tui]'"
    )
    active = replace(venv, environ={"PATH": "", "VIRTUAL_ENV": str(folder)})
    assert shlex.join(active.add_extra("tui")) == ".venv/bin/uv pip install './prime[tui]'"


def test_without_any_uv_the_environments_own_pip_is_used(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    venv = replace(installed(tmp_path), python=tmp_path / "elsewhere" / "python", here=Path("/"))
    words = venv.add_package("uv", again=True)
    assert words[1:] == ("-m", "pip", "install", "--force-reinstall", "uv")


def test_a_checkout_is_pulled_before_it_is_installed_again(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / "pyvenv.cfg").touch()
    venv = installed(folder, {"url": tmp_path.as_uri(), "dir_info": {}})
    assert [shlex.join(each) for each in venv.update()] == [
        "git pull --ff-only",
        ".venv/bin/uv pip install --python .venv/bin/python --reinstall-package=prime-cli .",
    ]
    assert shlex.join(venv.add_extra("tui")).endswith("'.[tui]'")


def test_a_repository_stays_the_source(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    vcs = {"vcs": "git", "requested_revision": "main", "commit_id": "0" * 40}
    venv = installed(tmp_path, {"url": "https://git.example.org/prime", "vcs_info": vcs})
    assert venv.update()[-1][-2:] == (
        "--upgrade",
        "prime-cli @ git+https://git.example.org/prime@main",
    )


def test_a_wheel_stays_the_source(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    wheel = "file:///home/ada/prime_cli-0.1.0-py3-none-any.whl"
    venv = installed(tmp_path, {"url": wheel, "archive_info": {}})
    assert venv.add_extra("tui")[-1] == f"prime-cli[tui] @ {wheel}"


def test_a_python_in_which_pip_refuses_gets_a_tool_of_its_own() -> None:
    found = Installation(Manager.MANAGED, Path("/usr"), Path("/usr/bin/python3"))
    assert shlex.join(found.add_extra("tui")) == "uv tool install './prime[tui]'"
    assert found.reinstall() == found.update()[-1] == ("uv", "tool", "install", "./prime")


@pytest.mark.parametrize("manager", Manager)
def test_no_command_installs_prime_by_its_bare_name(manager: Manager) -> None:
    found = Installation(manager, Path("/venv"), Path("/venv/bin/python"))
    commands = [found.add_extra("tui"), found.add_package("httpx"), found.reinstall()]
    for command in (*commands, *found.update()):
        installs = "install" in command
        assert not installs or not any(word.startswith("prime-cli") for word in command)
