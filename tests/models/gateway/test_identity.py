"""Who a call belongs to: said by the call, never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.identity import Identity, read_identity

HEADERS = {"X-Prime-Example": "3", "X-Prime-Rollout": "1", "X-Prime-Attempt": "2"}


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/v1/models", {}, (Identity(), "/v1/models")),
        ("/v1/x", HEADERS, (Identity(3, 1, 2, "policy"), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Role": "judge"}, (Identity(3, 1, 2, "judge"), "/v1/x")),
        ("/v1/x", {"X-Prime-Role": "judge"}, (Identity(role="judge"), "/v1/x")),
        ("/v1/x", {"X-Prime-Role": "policy"}, (Identity(role="unattributed"), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Example": "-3"}, (Identity(), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Example": "²"}, (Identity(), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Example": "9" * 5000}, (Identity(), "/v1/x")),
        ("/r/3.1.2/v1/x", {}, (Identity(3, 1, 2, "policy"), "/v1/x")),
        ("/r/3.1.2.judge/v1/x", {}, (Identity(3, 1, 2, "judge"), "/v1/x")),
        ("/r/3.1/v1/x", {}, (Identity(), "/r/3.1/v1/x")),
    ],
)
def test_identity_is_read_from_prefix_or_headers(
    path: str, headers: dict[str, str], expected: tuple[Identity, str]
) -> None:
    assert read_identity(path, headers) == expected


@given(st.text(), st.dictionaries(st.sampled_from([*HEADERS, "X-Prime-Role"]), st.text()))
def test_no_call_is_too_strange(path: str, headers: dict[str, str]) -> None:
    identity, rest = read_identity(path, headers)
    assert path.endswith(rest)
    assert identity.example is None or identity.example >= 0
