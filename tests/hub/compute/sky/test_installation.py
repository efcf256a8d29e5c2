"""Where SkyPilot is looked for, and what is said when it is not there or too old."""

import os
import sys
from pathlib import Path

import pytest

from prime_cli.core.errors import EnvironmentFailed, NotFound
from prime_cli.hub.compute.sky.installation import SkyInstallation, find_python, sentence
from tests.helpers.skypilots import FakeSky


def test_the_interpreter_is_found_by_command_folder_and_link(sky: FakeSky, tmp_path: Path) -> None:
    python = sky.folder / "bin" / "python"
    assert find_python(str(sky.command)) == python
    assert find_python(str(sky.folder)) == python
    assert find_python(str(sky.folder / "bin")) == python
    (tmp_path / "linked").symlink_to(sky.command)
    assert find_python(str(tmp_path / "linked")) == python


def test_a_shell_that_starts_python_is_seen_through(sky: FakeSky) -> None:
    sky.command.write_text('#!/bin/sh\nexec python "$0"\n', encoding="utf-8")
    assert find_python(str(sky.command)) == sky.folder / "bin" / "python"


def test_a_missing_skypilot_is_reported_with_the_way_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="SkyPilot not found at") as caught:
        SkyInstallation(str(tmp_path / "sky")).ask("status", {}, 60)
    assert "skypilot==0.14.1" in str(caught.value.hint)


def test_a_python_without_skypilot_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(EnvironmentFailed, match="has no SkyPilot"):
        SkyInstallation(str(tmp_path)).ask("status", {}, 60)


def test_an_old_skypilot_is_refused_with_the_one_that_was_tried(
    sky: FakeSky, tmp_path: Path
) -> None:
    old = FakeSky(tmp_path / "old", version="0.9.3")
    with pytest.raises(
        EnvironmentFailed, match=r"SkyPilot 0\.9\.3 is too old: 0\.14\.1 is what was"
    ):
        old.provider().offers()


def test_a_failure_includes_skypilots_output(sky: FakeSky) -> None:
    (sky.folder / "world.json").unlink()
    with pytest.raises(EnvironmentFailed, match=r"world\.json") as caught:
        sky.provider().list_tags("prime-")
    assert "Traceback" in str(caught.value.detail)


def test_skypilot_gets_the_keys_of_clouds_and_no_other(
    sky: FakeSky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "pit_planted")
    monkeypatch.setenv("OPENAI_API_KEY", "planted")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "meant")
    package = next((sky.folder / "lib").glob("python*/site-packages/sky"))
    with (package / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(f"import os\nopen({str(sky.folder / 'env')!r}, 'w').write(repr(os.environ))\n")
    sky.provider().list_tags("prime-")
    said = (sky.folder / "env").read_text("utf-8")
    assert "AWS_SECRET_ACCESS_KEY" in said
    assert "planted" not in said
    assert os.environ["PRIME_API_KEY"] == "pit_planted"


def test_skypilots_error_is_reported_without_colours() -> None:
    assert sentence({"failure": "\x1b[33mNo \x1b[1mmachine.\x1b[0m"}) == (
        "SkyPilot failed: No machine"
    )
