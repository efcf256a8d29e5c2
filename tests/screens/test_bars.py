"""Work that takes a while is shown while it is done, and leaves nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.served import served_hub
from tests.helpers.terminal import Terminal
from tests.helpers.wild import write_project

pytestmark = pytest.mark.usefixtures("needs_terminal")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A hub behind a socket, with ada/tiny-env on it."""
    with served_hub(tmp_path / "hub") as url:
        monkeypatch.setenv("PRIME_API_BASE_URL", url)
        yield url


def watch(*argv: str, cwd: Path, shown: str, columns: int = 80) -> Terminal:
    """Run `prime` until it has ended; `shown` was seen on the way and is gone at the end."""
    with Terminal(*argv, cwd=cwd, columns=columns) as terminal:
        terminal.wait_for(shown)
        assert terminal.end() == 0, terminal.text
    assert shown not in terminal.text
    assert all(len(line) <= columns for screen in terminal.seen for line in screen.splitlines())
    return terminal


def test_building_is_shown(tmp_path: Path) -> None:
    write_project(tmp_path)
    watch("env", "build", "tiny-env", "--no-check", cwd=tmp_path, shown="Building tiny-env")


def test_the_first_command_says_what_it_prepares(tmp_path: Path) -> None:
    watch("env", "list", cwd=tmp_path, shown="Preparing the starter environments")


def test_uploads_and_downloads_show_their_bytes(hub: str, prime: Prime, tmp_path: Path) -> None:
    write_project(tmp_path)
    wheel = "tiny_env-0.1.0-py3-none-any.whl"
    watch("env", "upload", "tiny-env", "--no-check", cwd=tmp_path, shown=f"Uploading {wheel}")
    seen = watch("env", "pull", "ada/tiny-env", cwd=tmp_path, shown="Downloading").seen
    assert any(" B/" in screen or "kB/" in screen for screen in seen)


def test_a_narrow_terminal_is_kept_to(tmp_path: Path) -> None:
    write_project(tmp_path)
    argv = ("env", "build", "tiny-env", "--no-check")
    watch(*argv, cwd=tmp_path, shown="Building", columns=40)


@pytest.mark.parametrize("variable", ["TERM=dumb", "NO_COLOR=1"])
def test_plain_terminals_get_no_bars_of_colour(variable: str, tmp_path: Path) -> None:
    name, _, value = variable.partition("=")
    with Terminal("env", "list", cwd=tmp_path, env={name: value}) as terminal:
        assert terminal.end() == 0
        assert "alphabet-sort" in terminal.text


def test_a_copy_of_a_hub_is_shown_as_it_is_made_and_put_back(prime: Prime, tmp_path: Path) -> None:
    prime("env", "list").ok()
    data = str(Path(prime("config", "show", "--output", "json").ok().json["home"]["value"]) / "hub")
    backup = ("hub", "backup", "copy", "--data", data)
    watch(*backup, cwd=tmp_path, shown="Copying blobs")
    watch("hub", "restore", "copy", "--data", "new", cwd=tmp_path, shown="Restoring blobs")
    watch("hub", "gc", "--data", "new", cwd=tmp_path, shown="Looking through the blobs")
