"""One question to SkyPilot at a time, whose answer serves all who wait for it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from prime_cli.core.errors import Unreachable
from prime_cli.core.file_locks import locked
from prime_cli.hub.compute.sky.installation import single_flight


def test_those_who_come_while_skypilot_is_asked_get_the_answer_to_that(tmp_path: Path) -> None:
    answers: list[str] = []
    asked, answered = Event(), Event()

    def kept() -> str | None:
        return answers[0] if answers else None

    def ask() -> str:
        asked.set()
        assert answered.wait(60)
        answers.append("it")
        return answers[-1]

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(single_flight, tmp_path / "offers.json", 60, kept, ask)
        assert asked.wait(60)
        others = [pool.submit(single_flight, tmp_path / "offers.json", 60, kept, ask) for _ in "ab"]
        answered.set()
        assert [each.result() for each in (first, *others)] == ["it"] * 3
    assert answers == ["it"]


def test_a_long_wait_is_explained(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "offers.lock"),
        pytest.raises(Unreachable, match="has not answered yet"),
    ):
        single_flight(tmp_path / "offers.json", 0.0, lambda: None, lambda: "it")
