"""Requests that grant or restrict, with a field that nobody knows: refused, and nothing is done."""

from typing import Any

import pytest

from prime_cli.hub.services.key_management import list_keys
from tests.helpers.login_keys import PRIVATE_KEY, pem
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data

API = "/api/v1"
POD = {"cloudId": "c", "gpuType": "H100_80GB", "gpuCount": 1}
PEM = pem(PRIVATE_KEY.public_key())

GRANTS: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("POST", "/user/keys", {"scope": "read", "expires_in": 60}, "expires_in", "expiresIn"),
    ("POST", "/user/keys", {"scoop": "read"}, "scoop", "scope"),
    ("POST", "/environmentshub/resolve", {"name": "x", "visiblity": "PRIVATE"}, "visiblity",
     "visibility"),
    ("POST", "/environmentshub/ada/word/fork", {"teamSlug": "lab"}, "teamSlug",
     "team_slug"),
    ("POST", "/secrets", {"name": "A", "value": "b", "team_id": "lab"}, "team_id", "teamId"),
    ("POST", "/pods", {"pod": POD, "stop_at": "2026-11-22T00:00:00Z"}, "stop_at", "stopAt"),
    ("POST", "/pods", {"pod": {**POD, "max_price": 1}}, "max_price", "maxPrice"),
    ("POST", "/pods", {"pod": {**POD, "envVars": [{"key": "A", "value": "b", "valu": ""}]}},
     "valu", "value"),
    ("POST", "/pods/sweep", {"dry_run": True}, "dry_run", "dryRun"),
    ("POST", "/disks", {"disk": {"size": 1, "cloud_id": "c"}}, "cloud_id", "cloudId"),
    ("POST", "/ssh_keys", {"name": "a", "publicKey": "b", "public_keys": ""}, "public_keys",
     "publicKey"),
    ("PUT", "/evaluations/none", {"isPublic": False}, "isPublic", "is_public"),
    ("POST", "/auth_challenge/generate", {"encryptionPublicKey": PEM, "limit": {"x": 1}}, "limit",
     "limits"),
    ("POST", "/auth_challenge/generate",
     {"encryptionPublicKey": PEM, "limits": {"maxConcurrentSandbox": 1}}, "maxConcurrentSandbox",
     "maxConcurrentSandboxes"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "field", "meant"), GRANTS)
def test_unknown_field_is_refused_and_the_nearest_named(
    accounts_hub: AccountsHub, method: str, path: str, body: dict[str, Any], field: str, meant: str
) -> None:
    ada = accounts_hub.user("ada", scope="admin")
    before = list_keys(accounts_hub.hub, OPERATOR)
    answer = ada.request(method, API + path, json=body)
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert f"`{field}` is not a known field" in problem["detail"]
    assert problem["hint"] == f"did you mean `{meant}`?"
    assert len(list_keys(accounts_hub.hub, OPERATOR)) == len(before)


def test_field_that_is_like_none_is_refused_with_all_there_are(accounts_hub: AccountsHub) -> None:
    answer = accounts_hub.user("ada", scope="admin").post(f"{API}/user/keys", json={"zzz": 1})
    assert answer.json()["hint"] == "the fields are `name`, `scope`, `owner`, `expiresIn`"


def test_unknown_field_that_is_null_is_omitted(accounts_hub: AccountsHub) -> None:
    """As official clients send what they have no value for."""
    ada = accounts_hub.user("ada")
    answer = ada.post(f"{HUB}/resolve", json={"name": "word", "visiblity": None})
    assert data(answer)["created"]


def test_what_only_describes_may_have_more(accounts_hub: AccountsHub) -> None:
    """Newer releases describe more, and no hub gives anybody more for it."""
    push = Push(accounts_hub.user("ada"))
    push.begin()
    assert push.declare_wheel(colour="green").status_code == 200


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"scope": "read"}, "<code>scope</code> is not a field"),
        ({"answer": "Refuse"}, "has no decision"),
    ],
)
def test_another_form_does_not_approve_a_login(
    accounts_hub: AccountsHub, extra: dict[str, str], said: str
) -> None:
    accounts_hub.user("ada")
    body = {"encryptionPublicKey": PEM}
    ticket = accounts_hub.client().post(f"{API}/auth_challenge/generate", json=body).json()
    form = {
        "code": ticket["challenge"],
        "key": accounts_hub.key("ada"),
        "answer": "approve",
        **extra,
    }
    before = len(list_keys(accounts_hub.hub, OPERATOR))
    page = accounts_hub.client().post("/dashboard/tokens/challenge", data=form)
    assert page.status_code == 422
    assert said in page.text
    assert len(list_keys(accounts_hub.hub, OPERATOR)) == before
