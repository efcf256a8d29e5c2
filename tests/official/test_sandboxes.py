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
_READS, _KNOWS_TOO_LARGE, _BATCHES, _WITHOUT_PORTS = map(
    RELEASES.index, ("0.2.27", "0.2.36", "0.2.42", "0.3.2")
)
_ONLY_NEWEST = (
    *("checkpoint", "list_checkpoints", "get_checkpoint", "get_checkpoints"),
    *("wait_for_checkpoint", "delete_checkpoint", "delete_sandbox_checkpoints"),
    *("list_lan_networks", "create_lan_network", "get_lan_network", "set_lan_rules"),
    *("add_lan_member", "remove_lan_member", "delete_lan_network"),
)
_OF_VOLUMES = ("create", "list", "get", "delete", "publish")
_OF_IMAGES = ("transfer_image", "start_build", "get_build_status", "update_images")
SAYS: tuple[tuple[str, object, int, int], ...] = (
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
    ("unexpose", "APIError", _FIRST, _WITHOUT_PORTS - 1),
    ("list_all_exposed_ports", "APIError", 1, _WITHOUT_PORTS - 1),
    ("close_ssh_session", "APIError", 1, _LAST),
    ("is_vm", "ok", _READS, _LAST - 1),
    ("set_network", "ok", _KNOWS_TOO_LARGE, _LAST),
    ("clear_auth_cache", "ok", _FIRST, _LAST),
    ("get_background_job_status", "ok", _BATCHES, _LAST),
    ("get_background_job_statuses", "BatchStatusUnsupportedError", _BATCHES, _BATCHES),
    ("get_background_job_statuses", "ok", _WITHOUT_PORTS, _LAST),
    ("get_background_jobs", "BatchStatusUnsupportedError", _BATCHES, _BATCHES),
    ("get_background_jobs", "ok", _WITHOUT_PORTS, _LAST),
    *((name, "APIError", _LAST, _LAST) for name in _ONLY_NEWEST),
    *((f"volumes.{name}", "APIError", _LAST, _LAST) for name in _OF_VOLUMES),
    ("images.list", "APIError", _BATCHES, _LAST),
    ("images.build_vm_image", "APIError", _KNOWS_TOO_LARGE, _BATCHES),
    *((f"images.{name}", "APIError", _KNOWS_TOO_LARGE, _LAST) for name in _OF_IMAGES),
    ("check-image", "APIError", 1, _BATCHES),
    ("credentials", "APIError", 1, _BATCHES),
    ("get_network", "ok", _KNOWS_TOO_LARGE, _LAST),
    ("get_sandbox_statuses", "ok", _BATCHES, _LAST),
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

COROUTINES_SAY: tuple[tuple[str, object, int, int], ...] = (
    ("wait-for-many", "ok", _FIRST, _LAST),
    ("commands", [f"{number}\n" for number in range(5)], _FIRST, _LAST),
    ("timeout", "CommandTimeoutError", _FIRST, _LAST),
    ("upload", "ok", _FIRST, _LAST),
    ("download", "ok", _FIRST, _LAST),
    ("same", True, _FIRST, _LAST),
    ("read", "content", _READS, _LAST),
    ("background", [True, 4, "begun\n"], _FIRST, _LAST),
    ("process", ["got it\n", "no\n", 6], _KNOWS_TOO_LARGE, _LAST),
    ("terminate", 143, _KNOWS_TOO_LARGE, _LAST),
    ("kill", 137, _KNOWS_TOO_LARGE, _LAST),
    ("listed", 1, _FIRST, _LAST),
    ("deleted", True, _FIRST, _LAST),
    ("after-end", "APIError", _FIRST, _FIRST),
    ("after-end", "SandboxNotRunningError", 1, _LAST),
)
"""The same for the asynchronous client."""

_JOURNEY = Path(__file__).with_name("sandbox_journey.py")
_COROUTINES = Path(__file__).with_name("sandbox_coroutines.py")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxHub]:
    with sandbox_hub(tmp_path_factory.mktemp("served") / "hub") as served:
        yield served


@pytest.mark.sample(2, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_a_release_makes_enters_and_ends_sandboxes(
    hub: SandboxHub, version: str, tmp_path: Path
) -> None:
    assert _run(_JOURNEY, hub, version, tmp_path) == _expected(SAYS, version)


@pytest.mark.sample(1, "version")
@pytest.mark.parametrize("version", RELEASES)
def test_the_client_of_environments_does_the_same(
    hub: SandboxHub, version: str, tmp_path: Path
) -> None:
    assert _run(_COROUTINES, hub, version, tmp_path) == _expected(COROUTINES_SAY, version)


def _run(script: Path, hub: SandboxHub, version: str, home: Path) -> object:
    """What a script prints in an interpreter with this release, as a user of its own."""
    key = hub.add_user(f"{script.stem.partition('_')[2]}-{version.replace('.', '-')}")
    python = venv_python(f"prime-sandboxes=={version}", as_of="2026-10-27T00:00:00Z")
    done = subprocess.run(
        [python, str(script)],
        env={
            "HOME": str(home),
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
    return json.loads(done.stdout)


def _expected(rows: tuple[tuple[str, object, int, int], ...], version: str) -> dict[str, object]:
    place = RELEASES.index(version)
    return {name: what for name, what, first, last in rows if first <= place <= last}
