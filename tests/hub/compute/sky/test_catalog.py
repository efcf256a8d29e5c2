"""One question to SkyPilot at a time, whose answer serves all who wait for it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from prime_cli.core.errors import Unreachable
from prime_cli.core.file_locks import locked
from prime_cli.hub.compute.sky.installation import read_cached


def test_those_who_come_while_skypilot_is_asked_get_the_answer_to_that(tmp_path: Path) -> None:
    answers: list[str] = []
    asked, answered = Event(), Event()

    def ask() -> str:
        asked.set()
        assert answered.wait(60)
        answers.append("it")
        return answers[-1]

    def read() -> object:
        file = tmp_path / "offers.json"
        return read_cached(file, ["sky"], ask, is_fresh=lambda _: True, patience=60)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(read)
        assert asked.wait(60)
        others = [pool.submit(read) for _ in "ab"]
        answered.set()
        assert [each.result() for each in (first, *others)] == ["it"] * 3
    assert answers == ["it"]


def test_a_long_wait_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "offers.json"
    with locked(tmp_path / "offers.lock"), pytest.raises(Unreachable, match="not answered yet"):
        read_cached(file, [], lambda: "it", is_fresh=lambda _: True, patience=0.0)
