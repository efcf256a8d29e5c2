"""Debian's Podman for tests: a service with a store of its own, and an image from Debian packages.

No registry is asked. Both are made once for a process of pytest and removed at its end.
"""

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
import uv

from prime_cli.core.file_locks import locked
from prime_cli.hub.compute.engine.provider import EnginePods
from tests.helpers.tools import ON_CI, require

IMAGE = "localhost/prime-pod"
_SECONDS = 300
# runc, as Debian's crun refuses machines with both versions of control groups; ulimits that a
# container's root may have too.
_CONFIG = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@dataclass(frozen=True)
class Podman:
    """A service at `url`, with its files in `folder`."""

    folder: Path
    processes: "list[subprocess.Popen[bytes]]" = field(default_factory=list, compare=False)
    """The service; the last one runs."""

    @property
    def url(self) -> str:
        return f"unix://{self.folder}/podman.sock"

    def provider(self, *, images: tuple[str, ...] = (IMAGE,)) -> EnginePods:
        return EnginePods(self.url, images, self.folder / "provider")

    def tags(self) -> list[str]:
        """Of every pod that is there, whoever made it."""
        return list(self.provider().list_tags(""))

    def run(self, *argv: str, seconds: float = _SECONDS) -> str:
        """A command of Podman on the same store; what it prints. Raises AssertionError."""
        return self._run(*argv, seconds=seconds).stdout

    def logs(self, name: str) -> str:
        """What a container has written to its stdout and to its stderr."""
        found = self._run("logs", name, seconds=_SECONDS)
        return found.stdout + found.stderr

    def _run(self, *argv: str, seconds: float) -> "subprocess.CompletedProcess[str]":
        store = ("--root", str(self.folder / "store"), "--runroot", str(self.folder / "run"))
        done = subprocess.run(
            ["podman", *store, *argv],
            env={**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")},
            capture_output=True,
            encoding="utf-8",
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def start(self) -> None:
        """Serve the API; returns once it answers."""
        self.folder.joinpath("containers.conf").write_text(_CONFIG, encoding="utf-8")
        store = ("--root", str(self.folder / "store"), "--runroot", str(self.folder / "run"))
        with self.folder.joinpath("service.log").open("wb") as log:
            process = subprocess.Popen(
                ["podman", *store, "system", "service", "--time=0", self.url],
                env={**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")},
                # Where its monitor leaves a file `oom` when a container runs out of memory.
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _SECONDS
        while not self.folder.joinpath("podman.sock").is_socket():
            assert process.poll() is None, self.folder.joinpath("service.log").read_text("utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self.processes.append(process)

    def kill(self) -> None:
        """`kill -9` the service, but none of its containers."""
        self.processes[-1].kill()
        self.processes[-1].wait()

    def restart(self) -> None:
        """Serve the API again after `kill`."""
        self.folder.joinpath("podman.sock").unlink(missing_ok=True)
        self.start()


@cache
def podman_service() -> Podman:
    """The service of this process, without an image.

    Skips, or fails on CI, where there is no Podman for root.
    """
    if os.name != "posix" or os.geteuid() != 0:
        (pytest.fail if ON_CI else pytest.skip)("the engine of these tests is root's")
    for program in ("podman", "runc", "mmdebstrap", "ssh"):
        require(program)
    # Kept short: a socket's path has at most 108 bytes.
    made = Podman(Path(tempfile.mkdtemp(prefix="prime-engine-")))
    made.start()
    atexit.register(_remove, made)
    return made


@cache
def podman() -> Podman:
    """The same with the image of pods."""
    made = podman_service()
    made.run("import", str(make_system("debian", "openssh-server")), IMAGE)
    return made


PYTHON_PACKAGES = "python3-venv,ca-certificates,python3-pip,python-is-python3,procps"
"""Of an image with Python."""
PYTHON_IMAGE = "docker.io/library/python:3.11-slim"


@cache
def podman_with_python(*packages: str) -> Podman:
    """The same with a stand-in for Python's own image, of Debian packages and of these besides."""
    made = podman_service()
    # Debian's pip refuses what that of Python's own image does.
    change = ("--change", "ENV PIP_BREAK_SYSTEM_PACKAGES=1")
    system = make_system("python-slim", ",".join((PYTHON_PACKAGES, *packages)))
    made.run("import", *change, str(system), PYTHON_IMAGE)
    return made


HARNESS_IMAGE = "localhost/harness:1"
"""Of tasks whose agents run in a container: harnesses find uv there, and reach its index."""


@cache
def podman_with_uv() -> Podman:
    """The same with HARNESS_IMAGE, which trusts what this machine trusts."""
    made = podman_with_python()
    context = made.folder / "harness"
    context.mkdir()
    shutil.copy(uv.find_uv_bin(), context / "uv")
    trusted = "/etc/ssl/certs/ca-certificates.crt"
    shutil.copy(trusted, context / "trusted.crt")
    lines = (
        f"FROM {PYTHON_IMAGE}",
        "COPY uv /usr/local/bin/uv",
        f"COPY trusted.crt {trusted}",
        f"ENV SSL_CERT_FILE={trusted}",
    )
    context.joinpath("Dockerfile").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    made.run("build", "--quiet", "--tag", HARNESS_IMAGE, str(context))
    return made


def make_system(name: str, packages: str) -> Path:
    """A system of Debian with these packages, as a tar archive; made once for this machine."""
    folder = Path(tempfile.gettempdir()) / f"prime-test-image-{os.geteuid()}"
    require("mmdebstrap")
    digest = hashlib.sha256(packages.encode()).hexdigest()[:8]
    image = folder / f"{name}-{digest}.tar"
    with locked(folder / "lock", seconds=_SECONDS):
        if not image.exists():
            argv = ["mmdebstrap", "--variant=minbase", f"--include={packages}", "bookworm"]
            subprocess.run(
                [*argv, str(folder / "making.tar")],
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            (folder / "making.tar").rename(image)
    return image


def _remove(made: Podman) -> None:
    made.run("rm", "--all", "--force")
    made.processes[-1].terminate()
    made.processes[-1].wait()
    # The store is a mount of its own.
    overlay = made.folder / "store" / "overlay"
    subprocess.run(["umount", "-l", str(overlay)], capture_output=True, check=False)
    shutil.rmtree(made.folder, ignore_errors=True)
