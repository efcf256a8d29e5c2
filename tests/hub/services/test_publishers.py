"""Keys for CI jobs, whose tokens a provider on a socket of this machine has signed."""

from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.client.api.single_requests import fetch
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.key_management import list_keys
from prime_cli.hub.services.publishers import MOST_FAILURES
from prime_cli.hub.services.takedowns import take_down
from prime_cli.wire.accounts import NewTakedown
from prime_cli.wire.publishers import GITHUB
from tests.helpers.openid_provider import OpenIdProvider, make_key, openid_provider
from tests.hub.accounts_hub import OPERATOR, URL, AccountsHub
from tests.hub.pushing import HUB, Push, data

__all__ = ["openid_provider"]

MINT = "/api/v1/publishers/mint-key"
PUBLISHERS = "/api/v1/publishers"
REPOSITORY = {"repository": "lab/words", "repository_id": "7", "ref": "refs/heads/main"}


@pytest.fixture
def hub(folder: Path, openid_provider: OpenIdProvider) -> AccountsHub:
    """A hub that takes tokens of the provider, with Ada, an admin of the team `lab`."""
    issuers = frozenset({openid_provider.url, GITHUB})
    hub = AccountsHub(folder, settings={"publisher_issuers": issuers, "fetch": fetch})
    openid_provider.clock = lambda: hub.clock().timestamp()
    hub.user("ada")
    hub.team("lab", ada="ADMIN")
    return hub


class Jobs:
    """A provider's jobs at the hub; every token has an id of its own."""

    def __init__(self, hub: AccountsHub, provider: OpenIdProvider) -> None:
        self.hub, self.provider = hub, provider
        self.ada = hub.client(hub.key("ada", scope="admin"))
        self._count = 0

    def trust(
        self, environment: str = "word", owner: str = "lab", claims: dict[str, str] | None = None
    ) -> httpx.Response:
        body = {
            "owner": owner,
            "environment": environment,
            "issuer": self.provider.url,
            "claims": claims or {"repository": "lab/words"},
        }
        return self.ada.post(PUBLISHERS, json=body)

    def token(self, **claims: Any) -> str:
        self._count += 1
        base = {"aud": URL, "jti": f"job-{self._count}", **REPOSITORY}
        return self.provider.token(**{**base, **claims})

    def mint(self, token: str | None = None, environment: str = "word", **body: Any) -> Any:
        body = {"token": token or self.token(), "environment": environment, **body}
        return self.hub.client().post(MINT, json=body)

    def client(self, **body: Any) -> httpx.Client:
        return self.hub.client(data(self.mint(**body))["key"])


@pytest.fixture
def jobs(hub: AccountsHub, openid_provider: OpenIdProvider) -> Jobs:
    return Jobs(hub, openid_provider)


def test_trusted_job_publishes_a_new_environment_of_the_team(jobs: Jobs) -> None:
    assert jobs.trust().status_code == 200
    answer = data(jobs.mint())
    assert (answer["owner"], answer["environment"]) == ("lab", "word")
    client = jobs.hub.client(answer["key"])
    assert data(client.get("/api/v1/user/whoami"))["slug"] == "lab"
    Push(client, owner="lab").run()
    Push(client, owner="lab", version="0.2.0").run()
    minted = list_entries(jobs.hub.hub, action="publisher.mint")[0]
    assert minted.actor == "lab"
    assert minted.detail["key"] == answer["key_id"]
    assert minted.detail["claims"]["repository"] == "lab/words"
    published = list_entries(jobs.hub.hub, action="version.publish")[0]
    assert published.key_id == answer["key_id"]


def test_key_of_a_job_does_nothing_else(jobs: Jobs) -> None:
    Push(jobs.ada, owner="lab", name="other").run()
    Push(jobs.ada, owner="lab").run()
    jobs.trust()
    client = jobs.client()
    refused = [
        client.post(f"{HUB}/resolve", json={"name": "other", "owner_slug": "lab"}),
        client.post(f"{HUB}/resolve", json={"name": "new", "owner_slug": "lab"}),
        client.post(f"{HUB}/resolve", json={"name": "word", "owner_slug": "ada"}),
        client.post(
            f"{HUB}/resolve", json={"name": "word", "owner_slug": "lab", "visibility": "PRIVATE"}
        ),
        client.delete(f"{HUB}/lab/word"),
        client.post("/api/v1/user/keys", json={"name": "more"}),
        client.post("/api/v1/evaluations/", json={"name": "e", "run_id": "r"}),
        client.post("/api/v1/secrets/", json={"name": "A", "value": "b"}),
        client.patch("/api/v1/user/slug", json={"slug": "else"}),
        client.get(PUBLISHERS, params={"owner": "lab"}),
        client.post(
            PUBLISHERS,
            json={
                "owner": "lab",
                "environment": "*",
                "issuer": GITHUB,
                "claims": {"repository": "evil/x"},
            },
        ),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)


def test_key_of_a_job_is_listed_with_what_it_publishes(jobs: Jobs) -> None:
    jobs.trust()
    minted = data(jobs.mint())["key_id"]
    found = list_keys(jobs.hub.hub, OPERATOR)
    assert {each.rights for each in found if each.id == minted} == {"publish lab/word"}
    assert {each.rights for each in found if each.id != minted} <= {"read", "write", "admin"}


def test_key_of_a_job_ends_after_a_quarter_of_an_hour(jobs: Jobs) -> None:
    jobs.trust()
    client = jobs.client()
    jobs.hub.clock.wait(minutes=14)
    assert client.get("/api/v1/user/whoami").status_code == 200
    jobs.hub.clock.wait(minutes=1)
    assert client.get("/api/v1/user/whoami").status_code == 401


def test_key_of_a_job_approves_no_login_that_outlives_or_exceeds_it(jobs: Jobs) -> None:
    from tests.hub.routes.test_logins import approve, begin

    jobs.trust(owner="ada")
    key = data(jobs.mint())["key"]
    login = begin(jobs.hub)
    approve(jobs.hub, login.code, key)
    client = jobs.hub.client(login.key())
    answer = client.post(f"{HUB}/resolve", json={"name": "other", "owner_slug": "ada"})
    assert answer.status_code == 403
    jobs.hub.clock.wait(minutes=15)
    assert client.get("/api/v1/user/whoami").status_code == 401


def test_token_is_good_for_one_key(jobs: Jobs) -> None:
    jobs.trust()
    token = jobs.token()
    assert jobs.mint(token).status_code == 200
    again = jobs.mint(token)
    assert again.status_code == 403
    assert "used before" in again.json()["detail"]


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://other.example"},
        {"aud": [URL, "https://other.example"]},
        {"aud": None},
        {"exp": 1},
        {"exp": 4_000_000_000},
        {"nbf": 4_000_000_000},
        {"jti": None},
        {"jti": 7},
        {"iss": "https://other.example"},
        {"iss": GITHUB},
        {"repository": "evil/words"},
        {"repository": "lab/words2"},
        {"repository": ["lab/words"]},
        {"repository": None},
    ],
)
def test_token_that_is_not_of_a_trusted_job_is_refused(claims: dict[str, Any], jobs: Jobs) -> None:
    jobs.trust()
    assert jobs.mint(jobs.token(**claims)).status_code == 403


def test_token_with_another_signature_is_refused(jobs: Jobs) -> None:
    jobs.trust()
    assert jobs.mint(jobs.token(key=make_key("evil"))).status_code == 403
    assert jobs.mint("no token").status_code == 403
    deep = urlsafe_b64encode(b"[" * 9000).decode()
    header = jobs.token().partition(".")[0]
    assert jobs.mint(f"{header}.{deep}.x").status_code == 403
    assert jobs.mint(f"{deep}.e30.x").status_code == 403


def test_only_issuers_that_the_admin_named_are_ever_asked(jobs: Jobs) -> None:
    body = {
        "owner": "lab",
        "environment": "word",
        "issuer": "http://169.254.169.254",
        "claims": {"sub": "x"},
    }
    assert jobs.ada.post(PUBLISHERS, json=body).status_code == 422
    assert jobs.mint(jobs.token(iss="http://169.254.169.254")).status_code == 403
    # And of those, only for an environment that trusts them.
    assert jobs.mint().status_code == 403
    assert not jobs.provider.requests


@pytest.mark.parametrize(
    ("wanted", "claims", "status"),
    [
        ({"workflow_ref": "lab/words/.github/workflows/p.yml@*"}, {}, 200),
        ({"workflow_ref": "Lab/Words/.github/workflows/p.yml@*"}, {}, 200),
        (
            {"workflow_ref": "lab/words/.github/workflows/p.yml@*"},
            {
                "workflow_ref": "lab/words/.github/workflows/evil.yml@refs/heads/"
                "lab/words/.github/workflows/p.yml@x"
            },
            403,
        ),
        ({"ref": "refs/tags/v*"}, {"ref": "refs/tags/v1"}, 200),
        ({"ref": "refs/tags/v*"}, {}, 403),
        ({"ref": "refs/heads/Main"}, {}, 403),
        ({"ref": "refs/heads/mai."}, {}, 403),
        ({"environment": "release"}, {"environment": "release"}, 200),
        ({"ref_protected": "true"}, {"ref_protected": True}, 200),
    ],
)
def test_claims_are_matched_as_patterns_of_the_whole(
    wanted: dict[str, str], claims: dict[str, Any], status: int, jobs: Jobs
) -> None:
    jobs.trust(claims={"repository": "lab/words", **wanted})
    workflow = {"workflow_ref": "lab/words/.github/workflows/p.yml@refs/heads/main"}
    assert jobs.mint(jobs.token(**{**workflow, **claims})).status_code == status


@pytest.mark.parametrize(
    ("issuer", "claims", "why"),
    [
        (GITHUB, {"repository": "lab/*"}, "in full"),
        (GITHUB, {"ref": "refs/heads/main"}, "in full"),
        ("", {"sub": "*"}, "in full"),
        ("", {"aud": "x"}, "tells jobs apart"),
        ("", {"sub": "a*b*c*d*e*"}, "at most 4"),
        ("", {}, "1 to 20 claims"),
    ],
)
def test_claims_of_everybody_are_not_trusted(
    issuer: str, claims: dict[str, str], why: str, jobs: Jobs
) -> None:
    body = {
        "owner": "lab",
        "environment": "word",
        "issuer": issuer or jobs.provider.url,
        "claims": claims,
    }
    answer = jobs.ada.post(PUBLISHERS, json=body)
    assert answer.status_code == 422
    assert why in answer.json()["detail"]


def test_all_environments_of_an_owner_may_be_trusted(jobs: Jobs) -> None:
    jobs.trust("*")
    client = jobs.client()
    for name in ("word", "other"):
        Push(client, owner="lab", name=name).run()
    assert client.delete(f"{HUB}/lab/word").status_code == 403


def test_owner_is_asked_for_only_where_several_trust_the_job(jobs: Jobs) -> None:
    jobs.trust()
    jobs.trust(owner="ada")
    answer = jobs.mint()
    assert answer.status_code == 409
    assert "--owner" in answer.json()["hint"]
    assert data(jobs.mint(owner="ada"))["owner"] == "ada"


def test_new_owner_of_a_repository_of_that_name_is_not_trusted(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prime_cli.hub.services import publishers

    monkeypatch.setitem(publishers._PINNED, jobs.provider.url, ("repository_id",))
    jobs.trust()
    assert jobs.mint().status_code == 200
    assert jobs.mint(jobs.token(repository_id="8")).status_code == 403
    assert jobs.mint().status_code == 200


def test_publishers_are_managed_by_admins_of_the_owner(jobs: Jobs) -> None:
    added = data(jobs.trust())
    assert jobs.trust().status_code == 409
    bob = jobs.hub.user("bob", scope="admin")
    for client in (bob, jobs.hub.client(jobs.hub.key("ada")), jobs.hub.client()):
        assert client.delete(f"{PUBLISHERS}/{added['id']}").status_code in (401, 404)
        body = {key: added[key] for key in ("owner", "environment", "issuer", "claims")}
        assert client.post(PUBLISHERS, json=body).status_code in (401, 403)
    listed = data(jobs.ada.get(PUBLISHERS, params={"owner": "lab", "environment": "Word"}))
    assert [each["id"] for each in listed["publishers"]] == [added["id"]]
    assert data(bob.get(PUBLISHERS))["publishers"] == []
    assert jobs.ada.delete(f"{PUBLISHERS}/{added['id']}").status_code == 200
    assert jobs.mint().status_code == 403
    done = [entry.action for entry in list_entries(jobs.hub.hub, action="publisher.")]
    assert done == ["publisher.remove", "publisher.add"]


def test_guessing_is_stopped(jobs: Jobs) -> None:
    for _ in range(MOST_FAILURES):
        assert jobs.mint("x").status_code == 403
    assert jobs.mint().status_code == 429


def test_jobs_of_a_suspended_user_get_no_key(jobs: Jobs) -> None:
    jobs.trust(owner="ada")
    take_down(jobs.hub.hub, OPERATOR, NewTakedown("ada", "spam"))
    refused = jobs.mint()
    assert refused.status_code == 403
    assert "spam" in refused.json()["detail"]
