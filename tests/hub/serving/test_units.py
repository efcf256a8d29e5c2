"""The unit of systemd in docs/deploy, and what it needs besides to give pods."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.tools import needs

DOCS = Path(__file__).parents[3] / "docs"
DEPLOY = DOCS / "deploy"
UNIT, PODS = DEPLOY / "prime-hub.service", DEPLOY / "local-pods.conf"


def _settings(path: Path) -> dict[str, str]:
    """The last value of each setting."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Z]\w*=", line))


@pytest.mark.parametrize("path", [UNIT, PODS], ids=lambda path: path.name)
def test_every_variable_of_a_unit_is_one_of_the_command(path: Path) -> None:
    page = (DOCS / "hub.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `--.*?`(PRIME_HUB_\w+)`", page, re.MULTILINE))
    said = set(re.findall(r"^Environment=(PRIME_HUB_\w+)=", path.read_text("utf-8"), re.MULTILINE))
    assert said
    assert said <= known


def test_a_unit_for_pods_opens_the_engine_s_socket_and_nothing_else() -> None:
    unit, pods = _settings(UNIT), _settings(PODS)
    assert "AF_UNIX" in unit["RestrictAddressFamilies"]
    assert set(pods) == {"Wants", "After", "Environment", "SupplementaryGroups"}


@needs("systemd-analyze")
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    added = tmp_path / f"{UNIT.name}.d"
    added.mkdir()
    shutil.copy(PODS, added)
    assert _complaints(tmp_path, "") == []
    (told,) = _complaints(tmp_path, "[Service]\nNonsense=yes\n")
    assert "Nonsense" in told


def _complaints(folder: Path, more: str) -> list[str]:
    """What systemd says of the unit with these lines behind it."""
    unit = folder / UNIT.name
    text = UNIT.read_text(encoding="utf-8").replace("/opt/prime/bin/prime", sys.executable)
    unit.write_text(text + more, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return [line for line in done.stderr.splitlines() if UNIT.name in line]
