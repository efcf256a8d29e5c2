"""Worlds for the walks: one that is quickly made, and one in which an environment was run."""

import pytest

from tests.commands.walk.entry import Entry
from tests.commands.walk.walking import Walker, prepare, with_run
from tests.commands.walk.world import World, make_world


@pytest.fixture(scope="session")
def quick_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One world for all that only look at it."""
    return prepare(make_world(tmp_path_factory.mktemp("walk") / "world"))


@pytest.fixture(scope="session")
def slow_world(tmp_path_factory: pytest.TempPathFactory, quick_world: World) -> World:
    """The same with a run that was really made."""
    return with_run(quick_world.copy(tmp_path_factory.mktemp("walk") / "slow-world"))


@pytest.fixture
def world(entry: Entry, request: pytest.FixtureRequest) -> World:
    """What the entry needs."""
    found: World = request.getfixturevalue("slow_world" if entry.slow else "quick_world")
    return found


@pytest.fixture
def walk(capfd: pytest.CaptureFixture[str]) -> Walker:
    return Walker(capfd, {})
