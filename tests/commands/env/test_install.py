"""`prime env install` of an environment on the local hub, and how far one has to read for it."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
import uv

from prime_cli.client.api.client import HubClient
from prime_cli.commands.env.install import ask_about_changes
from prime_cli.envs.install.installers import InstallRequest, PackageChange
from prime_cli.envs.install.plan import InstallPlan
from prime_cli.envs.install.workspace import Workspace
from prime_cli.terminal.output import Output
from tests.helpers.cli import Prime
from tests.helpers.hubs import publish
from tests.helpers.venvs import make_venv
from tests.helpers.walk import walking

MOST_FILES = 57
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


def test_packages_that_are_replaced_and_removed_are_named() -> None:
    workspace = Workspace(Path(sys.executable), None, "named")
    numpy, vllm = PackageChange("numpy", "2.3.5", "2.4.0"), PackageChange("vllm", "0.11.0", None)
    request = InstallRequest(workspace)
    plan = InstallPlan(workspace, request, (), changes=(numpy, vllm), foreign=(vllm,))
    err = io.StringIO()
    ask_about_changes(plan, Output(yes=True, err=err))
    assert "Replaces numpy 2.3.5 with 2.4.0\n" in err.getvalue()
    assert "This removes the workspace's vllm 0.11.0\n" in err.getvalue()
