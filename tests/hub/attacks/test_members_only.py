"""A hub for members only: nothing is read, and little is answered, without a key."""

from collections.abc import Iterator

import pytest

from prime_cli.hub.app import OPERATIONS, ROUTERS, find_page_routers
from prime_cli.hub.services.invitations import invite
from prime_cli.wire.invitations import NewInvitation
from tests.helpers.login_keys import PRIVATE_KEY, pem
from tests.hub.accounts_hub import OPERATOR
from tests.hub.attacks.conftest import MembersHub
from tests.hub.pushing import HUB, Push, data

OPEN = {
    "/api/v1/capabilities",
    "/dashboard/tokens/challenge",
    "/dashboard/tokens/challenge/oidc",
    "/dashboard/tokens/challenge/oidc/callback",
    "/login",
    "/login/code",
    "/upload/{token}",
    "/static/{name}",
    "/join",
    "/api/v1/invitations/show",
    "/api/v1/invitations/accept",
    "/api/v1/publishers/mint-key",
}


@pytest.fixture
def ada(members_hub: MembersHub) -> str:
    """A user whose `word` is public."""
    slug = members_hub.user()
    Push(members_hub.client(slug), visibility="PUBLIC").run()
    return slug


def paths() -> Iterator[str]:
    for operation in OPERATIONS:
        yield f"/api/v1{operation.path}"
    for router in (*ROUTERS, *find_page_routers()):
        yield from (page.path for page in router.pages)
    yield from ("/openapi.json", "/docs", "/nothing")


def test_without_a_key_only_a_login_is_answered(members_hub: MembersHub, ada: str) -> None:
    anybody, wrong = members_hub.client(), members_hub.client()
    wrong.headers["authorization"] = "Bearer wrong"
    filled = {"{owner}": ada, "{name}": "word", "{version}": "0.1.0", "{package}": "word"}
    refusal = "This hub is for its members only"
    for path in {*paths()} - OPEN:
        if "auth_challenge" in path or path.startswith("/gateway/"):
            continue
        address = path
        for name, value in filled.items():
            address = address.replace(name, value)
        for client, more in ((anybody, ""), (wrong, ", and the API key is not valid")):
            answer = client.get(address)
            assert answer.status_code == 401, path
            assert answer.json()["detail"] == refusal + more
            asks = "www-authenticate" in answer.headers
            assert asks != path.startswith("/api/v1/"), path
    body = {"encryptionPublicKey": pem(PRIVATE_KEY.public_key())}
    assert anybody.post("/api/v1/auth_challenge/generate", json=body).status_code == 200
    assert anybody.get("/dashboard/tokens/challenge").status_code == 200


def test_the_inside_of_a_sandbox_asks_for_a_token_of_it(members_hub: MembersHub) -> None:
    member = members_hub.client(members_hub.user())
    for client in (members_hub.client(), member):
        answer = client.post("/gateway/prime/some-id/exec", json={"command": "true"})
        assert answer.status_code == 401
        assert answer.json()["detail"] == "This token opens no sandbox, or not this one"


def test_an_invitation_lets_somebody_in_without_a_key(members_hub: MembersHub) -> None:
    link = invite(members_hub.hub, OPERATOR, NewInvitation(user="eve")).link
    anybody = members_hub.client()
    assert anybody.get("/join").status_code == 200
    assert anybody.get("/join/us").status_code == 401
    body = {"token": link.partition("#")[2]}
    for address in ("show", "accept"):
        assert anybody.post(f"/api/v1/invitations/{address}", json=body).status_code == 200


def test_a_member_reads_and_an_upload_is_private_by_default(
    members_hub: MembersHub, ada: str
) -> None:
    client = members_hub.client(ada)
    assert data(client.get(f"{HUB}/{ada}/word/@latest"))["visibility"] == "PUBLIC"
    Push(client, name="quiet").run()
    assert data(client.get(f"{HUB}/{ada}/quiet/@latest"))["visibility"] == "PRIVATE"
    other = members_hub.client(members_hub.user())
    assert data(other.get(f"{HUB}/{ada}/word/@latest"))["name"] == "word"
    assert other.get(f"{HUB}/{ada}/quiet/@latest").status_code == 404


def test_a_browser_that_knows_the_key_does_nothing_for_another_site(
    members_hub: MembersHub, ada: str
) -> None:
    client = members_hub.client(ada)
    address = f"{HUB}/{ada}/word/@0.1.0/unyank"
    assert client.post(address, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.post(address, headers={"sec-fetch-site": "same-origin"}).status_code == 200
