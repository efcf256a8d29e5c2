"""A hub for members only: nothing is read, and little is answered, without a key."""

from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette

from prime_cli.api.transports import AppTransport
from prime_cli.hub.app import OPERATIONS, ROUTERS, create_app
from prime_cli.hub.context import Caller
from prime_cli.hub.services.invitations import invite
from prime_cli.hub.services.key_management import issue_key
from prime_cli.hub.services.users import create_user
from prime_cli.wire.invitations import NewInvitation
from tests.helpers.login_keys import PRIVATE_KEY, pem
from tests.hub.pushing import HUB, Push, data, settings_for

OPERATOR = Caller.operator()
FILLED = {"{owner}": "ada", "{name}": "word", "{version}": "0.1.0", "{package}": "word"}
OPEN = {
    "/api/v1/capabilities",
    "/dashboard/tokens/challenge",
    "/dashboard/tokens/challenge/oidc",
    "/dashboard/tokens/challenge/oidc/callback",
    "/upload/{token}",
    "/join",
    "/api/v1/invitations/show",
    "/api/v1/invitations/accept",
    "/api/v1/publishers/mint-key",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Starlette:
    folder = tmp_path_factory.mktemp("hub")
    settings = settings_for(
        folder, "nobody", accounts=True, members_only=True, default_visibility="PRIVATE"
    )
    return create_app(settings)


@pytest.fixture(scope="module")
def ada(app: Starlette) -> Iterator[httpx.Client]:
    """Ada, whose `word` is public."""
    create_user(app.state.hub, OPERATOR, "ada")
    key = issue_key(app.state.hub, OPERATOR, "ada").key
    with open_client(app, authorization=f"Bearer {key}") as client:
        Push(client, visibility="PUBLIC").run()
        yield client


def open_client(app: Starlette, **headers: str) -> httpx.Client:
    return httpx.Client(transport=AppTransport(app), base_url="http://hub.local", headers=headers)


def paths() -> Iterator[str]:
    for operation in OPERATIONS:
        yield f"/api/v1{operation.path}"
    for router in ROUTERS:
        yield from (page.path for page in router.pages)
    yield from ("/openapi.json", "/docs", "/nothing")


@pytest.mark.usefixtures("ada")
def test_without_a_key_only_a_login_is_answered(app: Starlette) -> None:
    with open_client(app) as anybody, open_client(app, authorization="Bearer wrong") as wrong:
        for path in {*paths()} - OPEN:
            if "auth_challenge" in path:
                continue
            filled = path
            for name, value in FILLED.items():
                filled = filled.replace(name, value)
            for client in (anybody, wrong):
                answer = client.get(filled)
                assert answer.status_code == 401, path
                assert answer.json()["detail"] == "This hub is for its members only"
                asks = "www-authenticate" in answer.headers
                assert asks != path.startswith("/api/v1/"), path
        body = {"encryptionPublicKey": pem(PRIVATE_KEY.public_key())}
        assert anybody.post("/api/v1/auth_challenge/generate", json=body).status_code == 200
        assert anybody.get("/dashboard/tokens/challenge").status_code == 200


def test_an_invitation_lets_somebody_in_without_a_key(app: Starlette) -> None:
    link = invite(app.state.hub, OPERATOR, NewInvitation(user="eve")).link
    with open_client(app) as anybody:
        assert anybody.get("/join").status_code == 200
        assert anybody.get("/join/us").status_code == 401
        body = {"token": link.partition("#")[2]}
        for address in ("show", "accept"):
            assert anybody.post(f"/api/v1/invitations/{address}", json=body).status_code == 200


def test_a_member_reads_and_an_upload_is_private_by_default(ada: httpx.Client) -> None:
    assert data(ada.get(f"{HUB}/ada/word/@latest"))["visibility"] == "PUBLIC"
    Push(ada, name="quiet").run()
    assert data(ada.get(f"{HUB}/ada/quiet/@latest"))["visibility"] == "PRIVATE"


def test_a_browser_that_knows_the_key_does_nothing_for_another_site(ada: httpx.Client) -> None:
    address = f"{HUB}/ada/word/@0.1.0/unyank"
    assert ada.post(address, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert ada.post(address, headers={"sec-fetch-site": "same-origin"}).status_code == 200
