"""What a limited key does not reach, and how it is refused, by a hub in another process."""

from typing import Any

import httpx
import pytest

from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.teams import remove_member
from tests.hub.accounts_hub import OPERATOR
from tests.hub.attacks.conftest import MembersHub
from tests.hub.pushing import HUB, Push, data


@pytest.fixture
def ada(members_hub: MembersHub) -> str:
    """A user whose `word` is public among the members."""
    slug = members_hub.user()
    Push(members_hub.client(slug), visibility="PUBLIC").run()
    return slug


def member(team: str, role: str = "ADMIN") -> dict[str, str]:
    return {team.replace("-", "_"): role}


def test_a_read_key_changes_no_star(members_hub: MembersHub, ada: str) -> None:
    client, reader = members_hub.client(ada), members_hub.client(ada, scope="read")
    star = f"{HUB}/{ada}/word/star"
    for method in ("PUT", "DELETE"):
        refused = reader.request(method, star)
        assert refused.status_code == 403
        assert refused.json()["hint"].startswith("use a key with the scope `write`")
    data(client.put(star))
    assert reader.delete(star).status_code == 403
    (listed,) = client.get(f"{HUB}/", params={"owner": ada}).json()["data"]
    assert listed["stars"] == 1


CHANGES: tuple[tuple[str, str, Any], ...] = (
    ("POST", f"{HUB}/resolve", {"name": "new"}),
    ("DELETE", f"{HUB}/{{ada}}/word", None),
    ("POST", f"{HUB}/{{ada}}/word/@0.1.0/yank", {"reason": "old"}),
    ("POST", "/api/v1/evaluations/", {"name": "e", "run_id": "r"}),
    ("POST", "/api/v1/secrets/", {"name": "A", "value": "b"}),
    ("POST", "/api/v1/user/keys", {"name": "more"}),
    ("PATCH", "/api/v1/user/slug", {"slug": "else"}),
    ("POST", "/api/v1/invitations", {"user": "somebody"}),
    ("POST", "/api/v1/ssh_keys", {"name": "k", "publicKey": "ssh-ed25519 AAAA"}),
    ("DELETE", "/api/v1/user/identities/idn_1", None),
    ("GET", "/api/v1/hub/users", None),
    ("GET", "/api/v1/hub/usage", None),
    ("PUT", "/api/v1/hub/quotas", {"pods": 9}),
)


@pytest.mark.parametrize(
    ("method", "path", "body"), CHANGES, ids=[f"{method} {path}" for method, path, _ in CHANGES]
)
def test_a_read_key_changes_nothing(
    members_hub: MembersHub, ada: str, method: str, path: str, body: Any
) -> None:
    reader = members_hub.client(ada, scope="read")
    refused = reader.request(method, path.format(ada=ada), json=body)
    assert refused.status_code == 403, refused.text


def test_a_key_of_a_team_names_its_limit_where_it_asks_for_the_users_secrets(
    members_hub: MembersHub, ada: str
) -> None:
    lab, _ = members_hub.team(**member(ada))
    limited = members_hub.client(ada, owner=lab)
    refused = limited.get("/api/v1/secrets/")
    assert refused.status_code == 403
    assert refused.json()["detail"] == (
        f"This key is limited to `{lab}`; it cannot reach the secrets of `{ada}`"
    )
    assert limited.put(f"{HUB}/{ada}/word/star").status_code == 403


def test_only_who_may_change_an_environment_opens_its_secrets_which_is_recorded(
    members_hub: MembersHub, ada: str
) -> None:
    client = members_hub.client(ada)
    env_id = data(client.get(f"{HUB}/{ada}/word/@latest"))["id"]
    client.post(f"{HUB}/{env_id}/secrets", json={"name": "JUDGE_KEY", "value": "planted-value"})
    client.post(f"{HUB}/{env_id}/variables", json={"name": "SIZE", "value": "3"})
    opened = client.post(f"{HUB}/{env_id}/secrets/open")
    assert data(opened)["secrets"] == {"JUDGE_KEY": "planted-value"}
    assert data(opened)["variables"] == {"SIZE": "3"}
    assert opened.headers["cache-control"] == "no-store"
    others: list[httpx.Client] = [
        members_hub.client(ada, scope="read"),
        members_hub.client(members_hub.user()),
        members_hub.client(),
    ]
    for other in others:
        refused = other.post(f"{HUB}/{env_id}/secrets/open")
        assert refused.status_code in (401, 403)
        assert "planted-value" not in refused.text
    assert client.get(f"{HUB}/{env_id}/secrets/open").status_code in (404, 405)
    (noted,) = list_entries(members_hub.hub, action="secret.open", actor=ada)
    assert noted.target == f"{ada}/word"
    assert noted.detail == {"names": ["JUDGE_KEY"]}


def test_a_linked_secret_is_opened_for_those_of_its_owner_alone(members_hub: MembersHub) -> None:
    bob = members_hub.user()
    client = members_hub.client(bob)
    lab, team_id = members_hub.team(**member(bob, "MEMBER"))
    secret = {"name": "LAB_KEY", "value": "planted-value", "teamId": team_id}
    kept = data(client.post("/api/v1/secrets/", json=secret))["id"]
    env_id = Push(client, name="mine").run().environment_id
    client.post(f"{HUB}/{env_id}/secrets/link/{kept}", json={})
    opened = data(client.post(f"{HUB}/{env_id}/secrets/open"))
    assert opened["secrets"] == {"LAB_KEY": "planted-value"}
    remove_member(members_hub.hub, OPERATOR, lab, bob)
    left = data(client.post(f"{HUB}/{env_id}/secrets/open"))
    assert (left["secrets"], left["withheld"]) == ({}, ["LAB_KEY"])
