"""Engines that others bring, as `prime train --engine` finds them."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.plugins import write_plugin
from tests.helpers.training import SCRIPTED
from tests.helpers.wheelhouse import package, wheelhouse

__all__ = ["wheelhouse"]
V0 = "import verifiers as vf\n\ndef load_environment(): ...\n"


@pytest.fixture
def environment(tmp_path: Path, wheelhouse: Path) -> str:
    return str(package(tmp_path, V0).path)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with an engine, as an installer leaves it; its code must not run in prime."""
    site = tmp_path / "site"
    folder = site / "third_party_engine"
    shutil.copytree(SCRIPTED, folder)
    (folder / "__init__.py").write_text("raise SystemExit('was imported')\n", encoding="utf-8")
    write_plugin(site, "prime.engines", third="third_party_engine")
    monkeypatch.syspath_prepend(site)
    return folder


def test_the_engine_of_an_installed_package_is_found_by_its_name(
    prime: Prime, environment: str, installed: Path
) -> None:
    done = prime("train", environment, "-m", "some/model", "--engine", "third", "--dry-run")
    assert done.code == 0, done.err
    assert "scripted" in done.out
    refused = prime("train", environment, "-m", "some/model", "--engine", "thrid")
    assert refused.code == 6
    assert "`third`" in refused.err


def test_any_folder_with_engine_toml_is_an_engine(prime: Prime, environment: str) -> None:
    done = prime("train", environment, "-m", "some/model", "--engine", str(SCRIPTED), "--dry-run")
    assert done.code == 0, done.err
    assert "scripted" in done.out


def test_an_engine_for_v1_does_not_train_a_v0_environment(
    prime: Prime, environment: str, installed: Path
) -> None:
    with (installed / "engine.toml").open("a", encoding="utf-8") as file:
        file.write('takes = ["v1"]\n')
    done = prime("train", environment, "-m", "some/model", "--engine", "third", "--dry-run")
    assert done.code == 2
    assert "`--engine trl` trains v0 and v1" in done.err


def test_an_engine_that_needs_a_gpu_is_refused_without_one(
    prime: Prime, environment: str, installed: Path
) -> None:
    with (installed / "engine.toml").open("a", encoding="utf-8") as file:
        file.write('needs = ["gpu"]\n')
    done = prime("train", environment, "-m", "some/model", "--engine", "third", "--dry-run")
    assert done.code == 2
    assert "needs a GPU" in done.err
