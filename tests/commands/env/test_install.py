"""`prime env install` of an environment on the local hub, and how far one has to read for it."""

import subprocess
from pathlib import Path

import pytest
import uv

from prime_cli.api.client import HubClient
from tests.helpers.cli import Prime
from tests.helpers.hubs import publish
from tests.helpers.venvs import make_venv
from tests.helpers.walk import walking

MOST_FILES = 60
"""Of `prime_cli`, without the hub's own application."""


@pytest.mark.usefixtures("wheelhouse")
def test_an_installation_passes_through_few_files(
    prime: Prime, hub: HubClient, tmp_path: Path
) -> None:
    publish(hub, tmp_path, "wordle")
    make_venv(tmp_path / ".venv")

    with walking() as walk:
        done = prime("env", "install", "ada/wordle", "-o", "json", cwd=tmp_path)

    assert [each["ref"] for each in done.ok().json["installed"]] == ["ada/wordle@0.1.0"]
    assert len(walk.files) <= MOST_FILES, "\n".join(walk.lines())


@pytest.mark.usefixtures("wheelhouse")
def test_what_a_person_installed_moves_only_with_a_yes(
    prime: Prime, hub: HubClient, tmp_path: Path
) -> None:
    publish(hub, tmp_path, "wordle", requires=("verifiers==0.3.1",))
    venv = make_venv(tmp_path / ".venv")
    words = ("pip", "install", "--quiet", "--python", venv, "verifiers==0.1.14")
    subprocess.run([uv.find_uv_bin(), *words], check=True)

    refused = prime("env", "install", "ada/wordle", cwd=tmp_path)
    assert refused.code == 2
    assert "This changes the workspace's verifiers from 0.1.14 to 0.3.1" in refused.err
    assert "add `--yes`" in refused.err
    assert not [*venv.rglob("wordle.py")]

    prime("env", "install", "ada/wordle", "--yes", cwd=tmp_path).ok()
    assert [*venv.rglob("wordle.py")]
