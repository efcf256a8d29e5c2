"""Whose fault an exception is, and the traceback that is kept of it."""

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from prime_cli.runtime.worker.failures import (
    MOST_CHARACTERS,
    MOST_FRAMES,
    RewardFailed,
    classify,
    describe,
    message_of,
    traceback_of,
)


def error_class(name: str, *bases: type[Exception]) -> type[Exception]:
    return type(name, bases or (Exception,), {})


def raised(error: Exception, cause: Exception | None = None, **fields: Any) -> Exception:
    for name, value in fields.items():
        setattr(error, name, value)
    error.__cause__ = cause
    return error


APIStatusError = error_class("APIStatusError")
APIConnectionError = error_class("APIConnectionError")
ModelError = error_class("ModelError")
EmptyModelResponseError = error_class("EmptyModelResponseError", ModelError)
SandboxError = error_class("SandboxError", error_class("InfraError"))
ClientError = type("APIError", (Exception,), {"__module__": "prime_sandboxes.core"})
ImagePullError = type("SandboxImagePullError", (ClientError,), {"__module__": "prime_sandboxes"})


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (raised(APIStatusError("x"), status_code=429), ("infra", True)),
        (raised(APIStatusError("x"), status_code=500), ("infra", True)),
        (raised(APIStatusError("x"), status_code=404), ("infra", False)),
        (raised(APIStatusError("x"), status_code=401), ("infra", False)),
        (raised(APIStatusError("x"), status_code=422), ("model", False)),
        (raised(APIStatusError("x"), status_code=502, body={"class": "model"}), ("model", True)),
        (
            raised(APIStatusError("x"), status_code=404, body={"class": "environment"}),
            ("environment", False),
        ),
        (raised(APIStatusError("x"), status_code=500, body={"class": 5}), ("infra", True)),
        (APIConnectionError("x"), ("infra", True)),
        (EmptyModelResponseError("x"), ("model", True)),
        (SandboxError("x"), ("infra", True)),
        (raised(SandboxError("x"), ClientError("HTTP 503: the hub is down")), ("infra", True)),
        (raised(SandboxError("x"), ClientError("HTTP 429: too many")), ("infra", True)),
        (raised(SandboxError("x"), ClientError("HTTP 422: no GPU")), ("environment", False)),
        (raised(SandboxError("x"), ImagePullError("no image")), ("environment", False)),
        (ModelError(), ("model", True)),
        (TypeError("x"), ("environment", False)),
        (ConnectionError("the environment's own socket"), ("environment", False)),
    ],
)
def test_errors_are_reported_by_their_names(error: Exception, expected: tuple[str, bool]) -> None:
    assert classify(error) == expected


def test_a_tunnel_that_the_gateway_does_not_have_is_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_program = error_class("BinaryDownloadError")
    no_program.__module__ = "prime_tunnel.exceptions"
    failed = raised(no_program("Failed to download frpc"), error_class("ConnectError")("no name"))
    monkeypatch.setenv("PRIME_API_BASE_URL", "http://127.0.0.1:1/hub")
    assert classify(failed) == ("environment", False)
    said = describe(failed)["message"]
    assert said == "prime has no tunnel from a sandbox to this machine: Failed to download frpc"
    monkeypatch.setenv("PRIME_API_BASE_URL", "https://api.example")
    assert classify(failed) == ("infra", True)


def test_the_deepest_cause_knows_best() -> None:
    refused = raised(APIStatusError("no"), status_code=400)
    assert classify(raised(ModelError(), refused)) == ("model", False)
    assert classify(raised(ModelError(), APIConnectionError("down"))) == ("infra", True)


def test_an_error_without_words_speaks_with_its_causes() -> None:
    assert message_of(raised(ModelError(), raised(ValueError("no such model")))) == "no such model"


def test_a_long_error_is_cut_and_says_how_long_it_was() -> None:
    long_name = type("T" * 5000, (Exception,), {})
    found = describe(long_name("x" * 50_000_000))
    assert found["message"] == "x" * 2000 + " … (50,000,000 characters)"
    assert found["type"] == "T" * 200


@pytest.mark.parametrize("error", [TypeError("odd"), APIConnectionError("down")])
def test_an_error_of_any_class_that_was_raised_shows_its_traceback(error: Exception) -> None:
    assert describe(error)["traceback"] is None
    with pytest.raises(type(error)) as caught:
        raise error
    assert "raise error" in describe(caught.value)["traceback"]


def test_a_reward_that_raised_shows_where_and_stays_an_error_of_the_environment() -> None:
    with pytest.raises(APIConnectionError) as judge:
        raise APIConnectionError("the judge is down")
    found = describe(RewardFailed("graded: down", judge.value), in_scoring=True)
    assert (found["class"], found["in_scoring"]) == ("environment", True)
    assert "the judge is down" in found["traceback"]


def test_a_ring_of_causes_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert classify(first) == ("environment", False)


def caught(work: Callable[[], object]) -> BaseException:
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
    told = traceback_of(caught(own))
    assert "return ask()  # mine" in told
    assert told.endswith("KeyError: 'k'\n")
    assert told.count("  File ") <= MOST_FRAMES


def test_causes_are_reported_and_the_whole_is_bounded() -> None:
    def work() -> None:
        try:
            vars(object)["board"]
        except KeyError as error:
            raise ValueError("x" * 100_000) from error

    told = traceback_of(caught(work))
    assert "KeyError: 'board'" in told
    assert len(told) <= MOST_CHARACTERS


def test_an_endless_recursion_is_reported_in_few_lines() -> None:
    def work() -> None:
        work()

    assert traceback_of(caught(work)).count("  File ") <= MOST_FRAMES
