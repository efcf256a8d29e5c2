"""What the code does where `sys.platform` is win32, in processes that are told so.

`msvcrt` stands below: its locks are made of this system's locks on the same bytes. What only a real
Windows shows (paths, consoles, files that are open) is left to its CI job.
"""

import subprocess
import sys
from pathlib import Path

import pytest

AS_WINDOWS = """
import os, sys, types
from pathlib import Path
from prime_cli.models.gateway.limits.shared_state import lock_byte  # as this system has them

import asyncio, getpass, shutil, tempfile, uuid  # so are libraries, loaded before

msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK = 2

def locking(descriptor, mode, count):
    if not real_lock(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR)):
        raise PermissionError(13, "Permission denied")

def real_lock(descriptor, position):
    sys.platform = "linux"
    try:
        return lock_byte(descriptor, position)
    finally:
        sys.platform = "win32"

msvcrt.locking = locking
sys.modules["msvcrt"] = msvcrt
sys.platform = "win32"
folder = Path.cwd()
"""
LOCKS = """
from prime_cli.core.errors import Conflict
from prime_cli.runs.folder import RunFolder, is_being_written, writing
run = RunFolder(folder)
with writing(run):
    assert is_being_written(run)
    try:
        with writing(run):
            raise SystemExit("two writers")
    except Conflict as error:
        assert f"(process {os.getpid()})" in str(error), error
assert not is_being_written(run)
"""
REPLACING = """
from prime_cli.core.paths import write_atomically
real, refusals = os.replace, [PermissionError(13, "in use")] * 2

def replace(source, target, **other):
    if refusals:
        raise refusals.pop()
    real(source, target, **other)

os.replace = replace
os.rename = replace
write_atomically(folder / "file", b"a\\nb")
assert (folder / "file").read_bytes() == b"a\\nb" and not refusals
assert [path.name for path in folder.iterdir()] == ["file"]
"""
LAYOUT = """
from prime_cli.envs.install.workspace import Workspace
from prime_cli.core.paths import executable_in
python = executable_in(folder)
assert python == folder / "Scripts" / "python.exe", python
python.parent.mkdir()
python.touch()
(folder / "Lib" / "site-packages").mkdir(parents=True)
assert Workspace(python, folder, "new").site_packages == folder / "Lib" / "site-packages"
"""
ARCHIVES = """
import io, tarfile
from prime_cli.core.archive.members import unpack_archive
from prime_cli.core.errors import UnsafeContent
for name in ("src/con.py", "data:stream", "a "):
    with tarfile.open(folder / "x.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    try:
        unpack_archive(folder / "x.tar.gz", folder / "out")
    except UnsafeContent as error:
        assert "name that is invalid on Windows" in str(error), error
    else:
        raise SystemExit(name)
    assert not (folder / "out").exists()
"""
RUNS = """
from prime_cli.runs.folder import runs_folder
assert runs_folder("my-env", "qwen3:8b", folder).name == "my-env--qwen3-8b"
"""
LIMITS = """
from prime_cli.models.gateway.limits.shared_state import can_lock
from prime_cli.models.gateway.limits.shared_state import can_share
assert not can_lock() and not can_share(folder)
"""
DOCTOR = """
from prime_cli.doctor.files import check_permissions
from prime_cli.doctor.machine import check_sandbox
from prime_cli.doctor.base import CheckContext
system = CheckContext(here=folder, environ={}, home=folder, config=None)
assert check_permissions(system)[0].status == check_sandbox(system)[0].status == "skipped"
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux plays the other system")
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(LOCKS, id="locks hold while their file is open"),
        pytest.param(
            REPLACING, id="a file that somebody reads just now is replaced a little later"
        ),
        pytest.param(LAYOUT, id="virtual environments have their own layout"),
        pytest.param(ARCHIVES, id="archives with names of devices are refused"),
        pytest.param(RUNS, id="folders of runs have no colons"),
        pytest.param(LIMITS, id="limits are not shared"),
        pytest.param(DOCTOR, id="doctor leaves out what is not there"),
    ],
)
def test_on_windows(script: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AS_WINDOWS + script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
