"""`prime pods create` on the machine that one sits at, in an empty home."""

from pathlib import Path
from typing import Any

import pytest

from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import prime_process
from tests.helpers.tools import require


@pytest.mark.slow
def test_machine_is_found_taken_waited_for_and_given_back(home: Path, tmp_path: Path) -> None:
    require("sshd", "/usr/sbin/sshd")
    require("ssh-keygen")
    mark_published(home / ".prime" / "hub")
    (offer,) = _json("availability", "list", "--gpu-type", "cpu")["gpu_resources"]
    create = ("pods", "create", "--gpu-type", "cpu-node", "--max-price", "0", "--for", "1h")
    agreed = prime_process(*create, "--yes", "--wait", "--output", "json", cwd=tmp_path)
    pod = agreed.ok().json
    try:
        assert f"Selected {offer['id']}, " in agreed.err
        assert "$0.00 until then" in agreed.err
        assert "Created the key" in agreed.err
        assert (pod["status"], pod["installationStatus"]) == ("ACTIVE", "FINISHED")
        assert "127.0.0.1 -p " in pod["sshConnection"]
        assert pod["hostKeys"]
        again = prime_process(*create, "--dry-run", "--output", "json").ok().json
        assert again["name"] != pod["name"]
    finally:
        prime_process("pods", "terminate", pod["id"], "--yes").ok()
    assert _json("pods", "list")["total_count"] == 0


def _json(*argv: str) -> dict[str, Any]:
    answer: dict[str, Any] = prime_process(*argv, "--output", "json").ok().json
    return answer
