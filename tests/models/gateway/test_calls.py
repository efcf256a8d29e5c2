"""Who a call belongs to: said by the call, never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.calls import CallIdentity, read_identity

HEADERS = {"X-Prime-Example": "3", "X-Prime-Rollout": "1", "X-Prime-Attempt": "2"}


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/v1/models", {}, (CallIdentity(), "/v1/models")),
        ("/v1/x", HEADERS, (CallIdentity(3, 1, 2, "policy"), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Role": "judge"}, (CallIdentity(3, 1, 2, "judge"), "/v1/x")),
        ("/v1/x", {"X-Prime-Role": "judge"}, (CallIdentity(role="judge"), "/v1/x")),
        ("/v1/x", {"X-Prime-Role": "policy"}, (CallIdentity(role="unattributed"), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Example": "-3"}, (CallIdentity(), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Example": "²"}, (CallIdentity(), "/v1/x")),
        ("/v1/x", HEADERS | {"X-Prime-Example": "9" * 5000}, (CallIdentity(), "/v1/x")),
        ("/r/3.1.2/v1/x", {}, (CallIdentity(3, 1, 2, "policy"), "/v1/x")),
        ("/r/3.1.2.judge/v1/x", {}, (CallIdentity(3, 1, 2, "judge"), "/v1/x")),
        ("/r/3.1/v1/x", {}, (CallIdentity(), "/r/3.1/v1/x")),
    ],
)
def test_identity_is_read_from_prefix_or_headers(
    path: str, headers: dict[str, str], expected: tuple[CallIdentity, str]
) -> None:
    assert read_identity(path, headers) == expected


@given(st.text(), st.dictionaries(st.sampled_from([*HEADERS, "X-Prime-Role"]), st.text()))
def test_no_call_is_too_strange(path: str, headers: dict[str, str]) -> None:
    identity, rest = read_identity(path, headers)
    assert path.endswith(rest)
    assert identity.example is None or identity.example >= 0
