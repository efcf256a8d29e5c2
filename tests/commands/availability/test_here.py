"""What there is to rent on the machine that one sits at."""

from pathlib import Path

import pytest

from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import prime_process
from tests.helpers.tools import require


def test_a_failing_provider_is_one_warning_without_a_log_line(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("sshd", "/usr/sbin/sshd")
    mark_published(home / ".prime" / "hub")
    monkeypatch.setenv("PRIME_SKY", str(tmp_path / "nothing"))
    shown = prime_process("availability", "list", "--output", "json", cwd=tmp_path).ok()
    assert [offer["provider"] for offer in shown.json["gpu_resources"]] == ["local"]
    told = [line for line in shown.err.splitlines() if "`sky` failed" in line]
    assert told == [
        f"warning: The provider `sky` failed: SkyPilot not found at `{tmp_path / 'nothing'}`"
    ]
