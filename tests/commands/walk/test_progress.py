"""Work that may take over a second says what it is doing, and hence has a bar on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from prime_cli.core.progress import Silent, Task
from tests.commands.walk.entry import Entry
from tests.commands.walk.walking import Walker
from tests.commands.walk.world import World

_NEW = "--data {here}/new"
LONG = {
    "env build tiny-env --offline --no-check": "Building tiny-env",
    "env upload tiny-env --auto-bump --offline --no-check": "Uploading tiny_env-0.1.1",
    "env install ada/wordle": "Installing wordle",
    "env install ada/wordle --dry-run": "Resolving packages",
    "env pull ada/wordle": "Downloading",
    "env lock ada/wordle --offline": "Locking",
    "env outdated": "Asking the hub",
    "env diff ada/tiny-env@0.1.0 ada/tiny-env@0.2.0": "Comparing",
    "eval show {run}": "Reading {run}",
    "eval search a {run}": "Searching",
    "eval gate {run}": "Reading {run}",
    "eval compare {run} {other}": "Comparing",
    "eval power {run} -d 0.1": "Planning",
    "eval export {run}": "Exporting",
    "eval merge parts": "Merging the parts",
    "eval import log": "Importing",
    "eval push {other}": "Pushing samples",
    "eval get {evaluation} --save": "Fetching {evaluation}",
    "cache verify": "Verifying",
    "doctor --offline": "Checking this machine",
    "hub backup new.tar --data {served}": "Copying tables",
    f"hub restore {{backup}} {_NEW}": "Restoring tables",
    f"hub migrate {_NEW}": "Migrating",
    "hub gc --data {served}": "Looking through the blobs",
}
"""What is said to be under way; evaluating itself is looked at where evaluations are."""


class Heard(Silent):
    """What was said to be under way."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[str] = []

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        self.tasks.append(description)
        with super().task(description, total=total, unit=unit) as task:
            yield task


@pytest.mark.parametrize(("words", "told"), LONG.items())
def test_long_work_is_named(
    words: str, told: str, quick_world: World, walk: Walker, tmp_path: Path
) -> None:
    heard = Heard()
    world = quick_world.copy(tmp_path / "world")
    replace(walk, progress=heard)(world, Entry(words), words)
    assert any(task.startswith(" ".join(world.filled(told))) for task in heard.tasks), heard.tasks
