"""The image of docs/deploy/Dockerfile, built and run by Debian's Podman.

No registry is asked: its base is made of Debian's packages.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.helpers.certificates import make_certificate
from tests.helpers.engines import PYTHON_PACKAGES, Podman, make_system, podman
from tests.helpers.nginx import free_port

pytestmark = [pytest.mark.slow, pytest.mark.machine]

ROOT = Path(__file__).parents[3]
BASE, IMAGE = "localhost/prime-base", "localhost/prime-hub"
_SECONDS = 120


@pytest.fixture(scope="module")
def image() -> Podman:
    """A store of Podman with the image."""
    engine = podman()
    engine.run("import", str(make_system("python-slim", PYTHON_PACKAGES)), BASE)
    with tempfile.TemporaryDirectory() as folder:
        volumes = [part for each in _pip_settings(Path(folder)) for part in ("--volume", each)]
        argv = ["--network=host", "--format=docker", f"--build-arg=BASE={BASE}", *volumes]
        file = ROOT / "docs" / "deploy" / "Dockerfile"
        engine.run("build", *argv, "--tag", IMAGE, "--file", str(file), str(ROOT), seconds=1500)
    return engine


def _pip_settings(folder: Path) -> list[str]:
    """Volumes with what pip is told here, by files or variables, about how to reach an index."""
    argv = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(argv, capture_output=True, encoding="utf-8", check=True)
    options = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    said = {name.rpartition(".")[2]: value.strip("'") for name, value in options.items()}
    text = "\n".join(f"{name} = {value}" for name, value in said.items())
    (folder / "pip.conf").write_text(f"[global]\n{text}\n", encoding="utf-8")
    words = {word.removeprefix("file://") for value in said.values() for word in value.split("\\n")}
    paths = {str(Path(word)) for word in words if word.startswith("/") and Path(word).exists()}
    return [f"{folder}/pip.conf:/etc/pip.conf:ro", *(f"{path}:{path}:ro" for path in sorted(paths))]


@contextmanager
def run_image(engine: Podman, *argv: str, volumes: tuple[str, ...] = ()) -> Iterator[str]:
    """The name of a container of the image, until the block ends."""
    name = f"hub-{free_port()}"
    mounts = [f"--volume={each}" for each in volumes]
    health = f"--env=PRIME_HUB_HEALTH_PORT={free_port()}"
    # As the Helm chart runs it: nothing is writable but the volume and /tmp.
    options = ["--detach", "--network=host", "--read-only", "--name", name, health, *mounts]
    engine.run("run", *options, IMAGE, *argv)
    try:
        yield name
    finally:
        engine.run("rm", "--force", "--volumes", name)


def _wait(client: httpx.Client, engine: Podman, name: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            client.get("/readyz").raise_for_status()
            return
        time.sleep(0.2)
    raise AssertionError(engine.logs(name))


def test_image_serves_and_says_that_it_is_healthy(image: Podman) -> None:
    port = free_port()
    argv = ("--port", str(port), "--public-url", f"http://127.0.0.1:{port}")
    with (
        run_image(image, *argv) as name,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        _wait(client, image, name)
        image.run("healthcheck", "run", name)
        assert image.run("exec", name, "id", "-un").strip() == "hub"
        key = image.run("exec", name, "cat", "/data/hub/admin.key").strip()
        logs = image.logs(name)
        assert "admin.key" in logs
        assert key not in logs
        headers = {"authorization": f"Bearer {key}"}
        assert client.get("/api/v1/user/whoami", headers=headers).json()["data"]["slug"] == "admin"
        image.run("exec", name, "prime", "hub", "user", "add", "ada")
        assert "ada" in image.run("exec", name, "prime", "hub", "user", "list")
        begun = time.monotonic()
        image.run("stop", "--time", "40", name)
        assert time.monotonic() - begun < 30
        (shown,) = json.loads(image.run("inspect", name))
        assert shown["State"]["ExitCode"] == 0


def test_image_is_healthy_with_tls_of_its_own(image: Podman, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    for file in (certificate.cert, certificate.key):
        file.chmod(0o644)
    tmp_path.chmod(0o755)
    port = free_port()
    argv = ("--port", str(port), "--tls-cert", "/tls/cert.pem", "--tls-key", "/tls/key.pem")
    with (
        run_image(image, *argv, volumes=(f"{tmp_path}:/tls:ro",)) as name,
        httpx.Client(
            base_url=f"https://127.0.0.1:{port}", verify=certificate.trust, trust_env=False
        ) as client,
    ):
        _wait(client, image, name)
        image.run("healthcheck", "run", name)
