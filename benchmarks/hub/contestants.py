"""Package indexes as processes on this machine, each filled with tiny wheels of `project-N`."""

import base64
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uv

from benchmarks.hub.million import fill
from prime_cli.hub.context import open_hub
from prime_cli.hub.serving.server import ADMIN_KEY
from prime_cli.hub.settings import HubSettings
from tests.hub.pushing import make_wheel

PORT = 8790
URL = f"http://127.0.0.1:{PORT}"
_SECONDS = 600


@dataclass
class Server:
    """A server that answers; `page` is the index page of one project.

    `login` is the header with which an installer that has a key asks for it; empty for none.
    """

    name: str
    process: "subprocess.Popen[bytes]"
    page: str
    url: str = URL
    login: str = ""


@contextmanager
def ours(work: Path, count: int) -> Iterator[Server]:
    """`prime hub serve` over so many invented environments, with its access log and metrics."""
    data = work / f"hub-{count}"
    if not (data / "filled").exists():
        shutil.rmtree(data, ignore_errors=True)
        fill(open_hub(HubSettings(data=data, owner="ada")).database, count)
        (data / "filled").touch()
    command = [sys.executable, "-c", "from prime_cli.main import run; run()"]
    argv = [*command, "hub", "serve", "--data", str(data), "--port", str(PORT)]
    with _running("prime hub serve", argv, work, ready="/healthz", page="") as server:
        server.login = _basic("admin", (data / ADMIN_KEY).read_text(encoding="utf-8").strip())
        yield server


@contextmanager
def devpi(work: Path, count: int) -> Iterator[Server]:
    """devpi-server with a stage index."""
    bin_ = _venv(work, "devpi-server")
    data = work / f"devpi-{count}"
    if not data.exists():
        argv = [str(bin_ / "devpi-init"), "--serverdir", str(data), "--no-root-pypi"]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    argv = [str(bin_ / "devpi-server"), "--serverdir", str(data), "--port", str(PORT)]
    page = f"{URL}/root/dev/+simple/project-1/"
    with _running("devpi-server", argv, work, ready="/+api", page=page) as server:
        if httpx.get(page).status_code != httpx.codes.OK:
            _fill_devpi(count)
        server.login = _basic("root", _devpi_token())
        yield server


@contextmanager
def pypiserver(work: Path, count: int, *, keyed: bool = False) -> Iterator[Server]:
    """A folder of wheels behind pypiserver, with its cache; `keyed` asks everybody for a password.

    The password is kept in the form that is fastest to check, SHA-1.
    """
    bin_ = _venv(work, "pypiserver[passlib,cache]")
    argv = [str(bin_ / "pypi-server"), "run", "-i", "127.0.0.1", "-p", str(PORT)]
    users = work / "htpasswd"
    digest = base64.b64encode(hashlib.sha1(b"password").digest()).decode()
    users.write_text(f"ada:{{SHA}}{digest}\n", encoding="utf-8")
    # Else anybody may upload.
    asks = ["-P", str(users), "-a", "update,download,list"] if keyed else ["-P", ".", "-a", "."]
    argv += ["--disable-fallback", *asks, str(_wheels(work, count))]
    page = f"{URL}/simple/project-1/"
    with _running("pypiserver", argv, work, ready="/health", page=page) as server:
        server.login = _basic("ada", "password") if keyed else ""
        yield server


def keyed_pypiserver(work: Path, count: int) -> AbstractContextManager[Server]:
    """The same, which asks everybody for a password."""
    return pypiserver(work, count, keyed=True)


def _basic(user: str, password: str) -> str:
    return "authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@contextmanager
def nginx(work: Path, count: int) -> Iterator[Server]:
    """Files of a page's size behind nginx: how fast bytes that are ready can be sent here."""
    root = work / f"pages-{count}"
    for number in range(count):
        (root / "simple" / f"project-{number}").mkdir(parents=True, exist_ok=True)
        (root / "simple" / f"project-{number}" / "index.html").write_text("x" * 500)
    config = work / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; worker_processes 1; pid {work}/nginx.pid;"
        f"error_log {work}/nginx.err; events {{}}"
        f"http {{ access_log {work}/nginx.log;"
        f"client_body_temp_path {work}; proxy_temp_path {work};"
        f"fastcgi_temp_path {work}; uwsgi_temp_path {work}; scgi_temp_path {work}; sendfile on;"
        f"open_file_cache max=100; server {{ listen 127.0.0.1:{PORT}; root {root}; }} }}"
    )
    page = f"{URL}/simple/project-1/"
    argv = ["nginx", "-p", str(work), "-c", str(config)]
    with _running("nginx, static", argv, work, ready="/simple/project-1/", page=page) as server:
        yield server


@contextmanager
def _running(name: str, argv: list[str], work: Path, *, ready: str, page: str) -> Iterator[Server]:
    """The process, once it answers at `ready`; ended by the id that it was started with."""
    with (work / "server.log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        _wait(process, URL + ready)
        yield Server(name, process, page)
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _wait(process: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"{process.args} did not answer")


def _venv(work: Path, requirement: str) -> Path:
    """The folder of programs of a venv that holds `requirement` from PyPI."""
    home = work / f"venv-{requirement.partition('[')[0]}"
    if not (home / "done").exists():
        tool = uv.find_uv_bin()
        subprocess.run([tool, "venv", "-q", "--clear", "-p", sys.executable, str(home)], check=True)
        python = str(home / "bin" / "python")
        # pypiserver and devpi's Pyramid still ask setuptools for pkg_resources.
        wanted = (requirement, "setuptools<81")
        subprocess.run([tool, "pip", "install", "-q", "-p", python, *wanted], check=True)
        (home / "done").touch()
    return home / "bin"


def _wheels(work: Path, count: int) -> Path:
    folder = work / f"wheels-{count}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            name = f"project_{number}-0.1.0-py3-none-any.whl"
            (folder / name).write_bytes(make_wheel(f"project-{number}"))
        (folder / "done").touch()
    return folder


def _fill_devpi(count: int) -> None:
    """Make an index of the user root, and upload to it."""
    with devpi_client() as client:
        client.put("/root/dev", json={"type": "stage", "bases": []}).raise_for_status()
        for number in range(count):
            name = f"project-{number}"
            upload(client, "/root/dev/", name, "0.1.0", make_wheel(name))


def devpi_client() -> httpx.Client:
    """A client with the rights of devpi's user root."""
    return httpx.Client(base_url=URL, timeout=_SECONDS, auth=("root", _devpi_token()))


def _devpi_token() -> str:
    login = httpx.post(f"{URL}/+login", json={"user": "root", "password": ""})
    return str(login.raise_for_status().json()["result"]["password"])


def upload(client: httpx.Client, path: str, name: str, version: str, wheel: bytes) -> None:
    """Send a wheel as twine does."""
    fields = {
        ":action": "file_upload",
        "name": name,
        "version": version,
        "filetype": "bdist_wheel",
        "pyversion": "py3",
        "metadata_version": "2.1",
    }
    filename = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    client.post(path, data=fields, files={"content": (filename, wheel)}).raise_for_status()
