"""The Python that runs the agent, and compiles it."""

import asyncio
import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.hub.sandboxes import bubblewrap
from prime_cli.hub.sandboxes.bubblewrap.pythons import _parts_of, agent_python, compiled


def test_a_python_that_is_gone_or_fails_is_an_error_of_the_environment(tmp_path: Path) -> None:
    source, failing = tmp_path / "a.py", tmp_path / "python"
    source.write_text("1\n", encoding="utf-8")
    failing.write_text("#!/bin/sh\necho broken >&2; exit 1\n", encoding="utf-8")
    failing.chmod(0o755)
    for python, why in ((tmp_path / "none", "No such file"), (failing, "broken")):
        with pytest.raises(EnvironmentFailed, match=f"cannot run .*: .*{why}"):
            asyncio.run(compiled(source, python))


_MINIMAL = f"""#!/bin/sh
exec {sys.executable} -I -S -c 'import sys; sys.modules["resource"] = None; exec(sys.argv[1])' "$4"
"""
"""A Python without a module that the agent imports late, as Debian's `python3.11-minimal`."""


def test_a_python_without_a_module_of_the_agent_leaves_it_to_the_next(tmp_path: Path) -> None:
    source = Path(bubblewrap.__file__).with_name("agent.py")
    minimal, complete = tmp_path / "python", Path(sys.executable)
    minimal.write_text(_MINIMAL, encoding="utf-8")
    minimal.chmod(0o755)
    assert asyncio.run(compiled(source, minimal, complete)).python == complete
    assert asyncio.run(compiled(source, complete, minimal)).python == complete
    with pytest.raises(EnvironmentFailed, match="resource"):
        asyncio.run(compiled(source, minimal))


@pytest.mark.parametrize(
    "target",
    [
        "/opt/python3.12",
        "/usr/local/bin/python3.12",
        "/usr/bin/python3.8",
        "/usr/bin/env",
        "/usr/bin/python3.99",
    ],
)
def test_a_system_python_that_cannot_run_the_agent_inside_is_left_alone(
    tmp_path: Path, target: str
) -> None:
    named = tmp_path / "python3"
    named.symlink_to(target)
    assert agent_python(Path("/pythons/3.11/bin/python3.11"), named) == Path(
        "/pythons/3.11/bin/python3.11"
    )


_SYSTEM = Path("/usr/bin/python3")


@pytest.mark.skipif(not _SYSTEM.exists(), reason="the system has no Python")
def test_the_systems_python_runs_the_agent_of_another(tmp_path: Path) -> None:
    found = agent_python(tmp_path / "python3.11")
    assert found == _SYSTEM.resolve()


def installed(prefix: Path) -> Path:
    """A Python 3.99 in `prefix`: its program."""
    library = prefix / "lib" / "python3.99"
    (prefix / "bin").mkdir(parents=True)
    library.mkdir(parents=True)
    (library / "os.py").touch()
    (prefix / "bin" / "python3.99").touch()
    return prefix / "bin" / "python3.99"


def test_of_a_python_in_a_folder_of_its_own_all_is_shown(tmp_path: Path) -> None:
    python = installed(tmp_path / "pythons" / "3.99.1")
    assert _parts_of(python) == (tmp_path / "pythons" / "3.99.1",)


def test_of_a_python_in_somebodys_home_nothing_else_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "ada"
    python = installed(home)
    (home / ".ssh").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert _parts_of(python) == (python, home / "lib" / "python3.99")


def test_a_python_of_the_system_is_shown_with_the_system() -> None:
    assert _parts_of(Path("/usr/bin/python3.99")) == ()
