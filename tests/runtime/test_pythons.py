"""Pythons are found on machines as they are: with broken launch scripts, and many versions."""

import os
import re
import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import ResolveFailed
from prime_cli.runtime.pythons import choose_python, find_pythons, fitting_pythons, python_at
from prime_cli.runtime.search_plan import PythonChoice

RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}"
RUNNING_MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
REAL = Path(sys.base_prefix) / "bin" / f"python{RUNNING_MINOR}"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="fake Pythons are shell scripts")


def fake_python(folder: Path, version: str, name: str | None = None) -> Path:
    """The running Python under another version, which counts how often it was asked."""
    minor = ".".join(version.split(".")[:2])
    path = folder / (name or f"python{minor}")
    path.parent.mkdir(parents=True, exist_ok=True)
    renumber = f"s/{re.escape(RUNNING)}/{version}/g; s/{re.escape(RUNNING_MINOR)}/{minor}/g"
    path.write_text(
        f"#!/bin/sh\necho asked >> {path}.log\n{REAL} \"$@\" | sed '{renumber}'\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def test_the_running_python_comes_first() -> None:
    first = find_pythons()[0]

    assert first.version == RUNNING
    assert not (first.path.parent.parent / "pyvenv.cfg").exists()


def test_a_broken_launch_script_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "python3.12"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'python3.12: command not found' >&2\nexit 127\n")
    broken.chmod(0o755)
    working = fake_python(tmp_path / "other", "3.12.99")
    monkeypatch.setenv("PATH", f"{broken.parent}{os.pathsep}{working.parent}{os.pathsep}/bin")

    found = {python.version: python.path for python in find_pythons()}

    assert found["3.12.99"] == working
    assert broken not in found.values()


def test_pyenv_shims_are_not_even_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = fake_python(tmp_path / "shims", "3.13.99")
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}/bin")

    find_pythons()

    assert not Path(f"{shim}.log").exists()


def test_versions_of_pyenv_are_found_though_path_does_not_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = fake_python(tmp_path / "versions" / "3.12.98" / "bin", "3.12.98")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    assert inside in [python.path for python in find_pythons()]


def test_a_file_that_has_changed_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = fake_python(tmp_path, "3.12.97")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert "3.12.97" in [found.version for found in find_pythons()]

    fake_python(tmp_path, "3.12.96")
    os.utime(python, ns=(1, 1))
    versions = [found.version for found in find_pythons()]
    assert "3.12.96" in versions
    assert "3.12.97" not in versions


def test_the_steps_of_a_search_ask_a_broken_python_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, log = tmp_path / "python3.12", tmp_path / "log"
    broken.write_text(f"#!/bin/sh\necho asked >> {log}\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    choice = PythonChoice(None, None, None)

    versions = [choice.for_step(also)[0].version for also in (None, ">=3.8", "<4")]

    assert versions == [RUNNING] * 3
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1


def test_uvs_output_is_reported_if_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_PYTHON_PREFERENCE", "none-at-all")

    with pytest.raises(ResolveFailed, match="uv could not list the Pythons") as raised:
        find_pythons()
    assert "none-at-all" in (raised.value.detail or "")


def test_the_running_python_is_taken_when_it_fits() -> None:
    assert choose_python(">=3.8").version == RUNNING


def test_another_python_is_taken_when_the_running_one_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_python(tmp_path, "3.99.1", "python3")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")

    assert choose_python(">=3.99").version == "3.99.1"


def test_all_of_several_requirements_must_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_python(tmp_path, "3.99.1", "python3")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")

    assert RUNNING not in [p.version for p in fitting_pythons([">=3.8", ">=3.99"])]


def test_a_wanted_version_overrules_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = fake_python(tmp_path, "3.98.1", "python3")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")

    assert choose_python("<3.14", "3.98").path == python
    assert choose_python("<3.14", "3.98.1").path == python
    assert choose_python("<3.14", ">=3.98").path == python


def test_a_wanted_path_may_be_a_virtual_environment(tmp_path: Path) -> None:
    python = fake_python(tmp_path / "env" / "bin", "3.12.1", "python")

    assert choose_python(None, str(tmp_path / "env")).path == python
    assert python_at(python).version == "3.12.1"


def test_when_none_fits_the_error_names_what_there_is() -> None:
    with pytest.raises(ResolveFailed) as raised:
        choose_python(">=3.77")

    assert ">=3.77" in raised.value.message
    assert ".".join(RUNNING.split(".")[:2]) in raised.value.message
    assert raised.value.hint is not None
    assert "uv python install" in raised.value.hint


@pytest.mark.parametrize("wanted", ["three", "3.x.y", "./no/such/python"])
def test_an_invalid_python_is_refused(wanted: str) -> None:
    with pytest.raises(ResolveFailed):
        choose_python(None, wanted)


def test_a_python_that_cannot_be_asked_today_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = fake_python(tmp_path / "bin", "3.12.99")
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}/bin")
    script, times = python.read_bytes(), python.stat()
    python.write_bytes(b"x" * len(script))  # no program: running it is an OSError
    os.utime(python, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "3.12.99" not in {found.version for found in find_pythons()}

    python.write_bytes(script)
    os.utime(python, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert "3.12.99" in {found.version for found in find_pythons()}
