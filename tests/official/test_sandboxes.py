"""Releases of the official SDK of sandboxes, unmodified, against a served hub."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.serving import ServedHub, serve
from tests.helpers.tools import needs_bubblewrap
from tests.helpers.venvs import venv_python
from tests.official.accounts import Accounts

pytestmark = [pytest.mark.slow, pytest.mark.network, needs_bubblewrap]

RELEASES = ("0.2.6", "0.2.12", "0.2.27", "0.2.36", "0.2.42", "0.3.2", "0.5.1")
_JOURNEY = Path(__file__).with_name("sandbox_journey.py")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedHub, Path]]:
    """A served hub with sandboxes, and its data."""
    data = tmp_path_factory.mktemp("served") / "hub"
    options = ("--sandboxes", "bubblewrap", "--users-trust-each-other")
    with ended_supervisor(data), serve(data, *options) as served:
        yield served, data


@pytest.mark.sample(2, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_a_release_makes_enters_and_ends_sandboxes(
    hub: tuple[ServedHub, Path], version: str, tmp_path: Path
) -> None:
    served, data = hub
    key = Accounts(data).add_user(f"user-{version.replace('.', '-')}")
    python = venv_python(f"prime-sandboxes=={version}", as_of="2026-10-27T00:00:00Z")
    done = subprocess.run(
        [python, str(_JOURNEY)],
        env={
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "PRIME_API_BASE_URL": served.url,
            "PRIME_API_KEY": key,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {
        "command": ["out\n", "err\n", 3],
        "timeout": "CommandTimeoutError",
        "upload": "ok",
        "download": "ok",
        "same": True,
        "read": "ok",
        "read-missing": "SandboxFileNotFoundError",
        "logs": "ok",
        "listed": 1,
        "job": [True, "job\n"],
        "other-image": "APIError",
        "after-end": "SandboxNotRunningError",
        "status": "TERMINATED",
        "delete": "ok",
        "bulk": True,
        "missing": "APIError",
    }
