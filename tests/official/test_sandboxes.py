"""Releases of the official SDK of sandboxes, unmodified, against a served hub."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.tools import needs_bubblewrap
from tests.helpers.venvs import venv_python
from tests.official.sandbox_hubs import SandboxHub, sandbox_hub

pytestmark = [pytest.mark.slow, pytest.mark.network, needs_bubblewrap]

RELEASES = ("0.2.6", "0.2.12", "0.2.27", "0.2.36", "0.2.42", "0.3.2", "0.5.1")
_FIRST, _LAST = 0, len(RELEASES) - 1
_READS, _KNOWS_TOO_LARGE, _WITHOUT_PORTS = map(RELEASES.index, ("0.2.27", "0.2.36", "0.3.2"))
SAYS = (
    ("command", ["out\n", "err\n", 3], _FIRST, _LAST),
    ("wait-for-many", "ok", _FIRST, _LAST),
    ("timeout", "CommandTimeoutError", _FIRST, _LAST),
    ("upload", "ok", _FIRST, _LAST),
    ("download", "ok", _FIRST, _LAST),
    ("same", True, _FIRST, _LAST),
    ("upload-bytes", "ok", _FIRST, _LAST),
    ("download-missing", "APIError", _FIRST, _LAST),
    ("read", "ok", _READS, _LAST),
    ("read-missing", "SandboxFileNotFoundError", _READS, _LAST),
    ("read-large", "APIError", _READS, _READS),
    ("read-large", "SandboxFileTooLargeError", _KNOWS_TOO_LARGE, _LAST),
    ("logs", "ok", _FIRST, _LAST),
    ("listed", 1, _FIRST, _LAST),
    ("background", [True, 4, "begun\n"], _FIRST, _LAST),
    ("job", [True, "job\n"], _READS, _LAST),
    ("other-image", "APIError", _FIRST, _LAST),
    ("expose", "APIError", _FIRST, _WITHOUT_PORTS - 1),
    ("list_exposed_ports", "APIError", _FIRST, _WITHOUT_PORTS - 1),
    ("create_ssh_session", "APIError", 1, _LAST),
    ("get_network", "ok", _KNOWS_TOO_LARGE, _LAST),
    ("get_sandbox_statuses", "ok", RELEASES.index("0.2.42"), _LAST),
    ("unknown-key", "UnauthorizedError", _FIRST, _LAST),
    # It does not ask why a command failed.
    ("after-end", "APIError", _FIRST, _FIRST),
    ("after-end", "SandboxNotRunningError", 1, _LAST),
    ("status", "TERMINATED", _FIRST, _LAST),
    ("delete", "ok", _FIRST, _LAST),
    ("bulk", True, _FIRST, _LAST),
    ("missing", "APIError", _FIRST, _LAST),
)
"""What each step says, from the first of `RELEASES` to the last that say so."""

_JOURNEY = Path(__file__).with_name("sandbox_journey.py")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxHub]:
    with sandbox_hub(tmp_path_factory.mktemp("served") / "hub") as served:
        yield served


@pytest.mark.sample(2, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_a_release_makes_enters_and_ends_sandboxes(
    hub: SandboxHub, version: str, tmp_path: Path
) -> None:
    key = hub.add_user(f"user-{version.replace('.', '-')}")
    python = venv_python(f"prime-sandboxes=={version}", as_of="2026-10-27T00:00:00Z")
    done = subprocess.run(
        [python, str(_JOURNEY)],
        env={
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "PRIME_API_BASE_URL": hub.url,
            "PRIME_API_KEY": key,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    place = RELEASES.index(version)
    assert json.loads(done.stdout) == {
        name: what for name, what, first, last in SAYS if first <= place <= last
    }
