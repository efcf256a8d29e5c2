from typing import Any

import pytest

from prime_cli.runtime.worker.failures import RewardFailed, classify, describe, message_of


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
        (ModelError(), ("model", True)),
        (TypeError("x"), ("environment", False)),
        (ConnectionError("the environment's own socket"), ("environment", False)),
    ],
)
def test_errors_are_told_by_their_names(error: Exception, expected: tuple[str, bool]) -> None:
    assert classify(error) == expected


def test_the_deepest_cause_knows_best() -> None:
    refused = raised(APIStatusError("no"), status_code=400)
    assert classify(raised(ModelError(), refused)) == ("model", False)
    assert classify(raised(ModelError(), APIConnectionError("down"))) == ("infra", True)


def test_an_error_without_words_speaks_with_its_causes() -> None:
    assert message_of(raised(ModelError(), raised(ValueError("no such model")))) == "no such model"


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
