"""Tracebacks are short, and name the environment's own lines."""

from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest

from prime_cli.runtime.worker.tracebacks import MOST_CHARACTERS, MOST_FRAMES, traceback_of


def raised(work: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any kind
        work()
    return caught.value


def function_in(path: Path, source: str, **known: object) -> FunctionType:
    """The function `work` of a module that lies at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, "utf-8")
    scope: dict[str, object] = dict(known)
    exec(compile(source, str(path), "exec"), scope)
    work = scope["work"]
    assert isinstance(work, FunctionType)
    return work


def test_the_environments_lines_stay_where_a_library_goes_deep(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    deep = "def work(n=60):\n    return work(n - 1) if n else {}['k']\n"
    library = function_in(packages / "httpx" / "client.py", deep)
    own = function_in(
        packages / "wordle.py", "def work():\n    return ask()  # mine\n", ask=library
    )
    told = traceback_of(raised(own))
    assert "return ask()  # mine" in told
    assert told.endswith("KeyError: 'k'\n")
    assert told.count("  File ") <= MOST_FRAMES


def test_causes_are_told_and_the_whole_is_bounded() -> None:
    def work() -> None:
        try:
            vars(object)["board"]
        except KeyError as error:
            raise ValueError("x" * 100_000) from error

    told = traceback_of(raised(work))
    assert "KeyError: 'board'" in told
    assert len(told) <= MOST_CHARACTERS


def test_an_endless_recursion_is_told_in_few_lines() -> None:
    def work() -> None:
        work()

    assert traceback_of(raised(work)).count("  File ") <= MOST_FRAMES
