"""The login of official clients, with the clients' own half done here."""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from prime_cli.hub.context import Caller
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.key_management import issue_key, list_keys, revoke_key
from prime_cli.hub.services.logins import MOST_FAILURES, MOST_LOGINS, approve_login_of
from tests.helpers.login_keys import PRIVATE_KEY, pem
from tests.hub.accounts_hub import OPERATOR, AccountsHub, actions
from tests.hub.pushing import HUB, Push, data

GENERATE = "/api/v1/auth_challenge/generate"
STATUS = "/api/v1/auth_challenge/status"
PAGE = "/dashboard/tokens/challenge"
WHOAMI = "/api/v1/user/whoami"


@dataclass
class Login:
    """A client that waits to be let in."""

    client: httpx.Client
    code: str
    token: str

    def poll(self, token: str = "") -> httpx.Response:
        headers = {"authorization": f"Bearer {token or self.token}"}
        return self.client.get(STATUS, params={"challenge": self.code}, headers=headers)

    def key(self) -> str:
        """The key that came, decrypted as official clients do."""
        oaep = padding.OAEP(padding.MGF1(SHA256()), SHA256(), None)
        return PRIVATE_KEY.decrypt(b64decode(self.poll().json()["result"]), oaep).decode()


def begin(accounts_hub: AccountsHub) -> Login:
    return begin_at(accounts_hub.client())


def begin_at(client: httpx.Client) -> Login:
    body = {
        "encryptionPublicKey": pem(PRIVATE_KEY.public_key()),
        "limits": {"maxConcurrentTunnels": 3},
    }
    answer = client.post(GENERATE, json=body)
    assert answer.status_code == 200
    return Login(client, answer.json()["challenge"], answer.json()["status_auth_token"])


def approve(
    accounts_hub: AccountsHub, code: str, key: str, answer: str = "approve"
) -> httpx.Response:
    form = {"code": code, "key": key, "answer": answer}
    return accounts_hub.client().post(PAGE, data=form)


def test_client_is_let_in_by_a_page_and_a_key(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    assert login.poll().json() == {"result": None}
    page = approve(accounts_hub, login.code, accounts_hub.key("ada"))
    assert page.status_code == 200
    assert "logged in as <b>ada</b>" in page.text
    client = accounts_hub.client(login.key())
    assert data(client.get("/api/v1/user/whoami"))["slug"] == "ada"
    Push(client).run()
    assert client.delete(f"{HUB}/ada/word").status_code == 200
    names = [key.name for key in list_keys(accounts_hub.hub, OPERATOR)]
    assert "login from 127.0.0.1" in names


def test_key_is_stored_only_encrypted_and_can_be_fetched_again(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    approve(accounts_hub, login.code, accounts_hub.key("ada"))
    key = login.key()
    assert login.key() == key
    for file in accounts_hub.data.rglob("*"):
        if file.is_file():
            assert key.encode() not in file.read_bytes()


def test_operator_approves_for_a_user(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    typed = f" {login.code[:4].lower()}-{login.code[4:]} "
    approve_login_of(accounts_hub.hub, OPERATOR, typed, "ada")
    assert data(accounts_hub.client(login.key()).get("/api/v1/user/whoami"))["slug"] == "ada"
    entries = actions(list_entries(accounts_hub.hub, action="login."))
    assert entries == [("cli", "login.approve", "ada")]


def test_login_ends_after_ten_minutes(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    accounts_hub.clock.wait(minutes=10)
    assert login.poll().status_code == 404
    assert approve(accounts_hub, login.code, accounts_hub.key("ada")).status_code == 404


def test_wrong_token_is_as_an_unknown_code(accounts_hub: AccountsHub) -> None:
    login = begin(accounts_hub)
    other = begin(accounts_hub)
    answers = [
        login.poll(token="guess"),
        login.poll(token=other.token),
        Login(login.client, "ABCDEFGH", login.token).poll(),
        login.client.get(STATUS, params={"challenge": login.code}),
        login.client.get(STATUS),
    ]
    assert {(answer.status_code, answer.text) for answer in answers} == {
        (404, answers[0].text),
    }


def test_refused_login_is_over(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    assert "Refused" in approve(accounts_hub, login.code, "", answer="refuse").text
    assert login.poll().status_code == 404
    assert approve(accounts_hub, login.code, accounts_hub.key("ada")).status_code == 404


def test_login_is_approved_once(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")
    login = begin(accounts_hub)
    approve(accounts_hub, login.code, key)
    again = approve(accounts_hub, login.code, key)
    assert again.status_code == 409
    assert "already approved" in again.text
    assert len(list_keys(accounts_hub.hub, OPERATOR)) == 3


def test_new_key_does_no_more_than_the_one_that_approves(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    accounts_hub.team("lab", ada="ADMIN")
    reader = begin(accounts_hub)
    approve(
        accounts_hub, reader.code, accounts_hub.key("ada", scope="read", owner="lab", seconds=3600)
    )
    made = accounts_hub.caller(reader.key())
    assert (made.reads, made.writes, made.manages) == (
        frozenset({"lab"}),
        frozenset(),
        frozenset(),
    )
    admin = begin(accounts_hub)
    approve(accounts_hub, admin.code, accounts_hub.key("ada", scope="admin"))
    key = admin.key()
    assert accounts_hub.caller(key) == Caller(
        "ada",
        reads=frozenset({"ada", "lab"}),
        writes=frozenset({"ada", "lab"}),
        key_id=accounts_hub.caller(key).key_id,
    )
    accounts_hub.clock.wait(hours=1)
    ended = accounts_hub.client(key)
    assert ended.get("/api/v1/user/whoami").status_code == 200
    assert not [k for k in list_keys(accounts_hub.hub, OPERATOR) if k.owner and not k.expires_at]


@pytest.mark.parametrize("key", ["", "prime_sk_unknown", "ada"])
def test_access_needs_a_key(accounts_hub: AccountsHub, key: str) -> None:
    login = begin(accounts_hub)
    page = approve(accounts_hub, login.code, key)
    assert page.status_code == 401
    assert login.code in page.text
    assert login.poll().json() == {"result": None}


def test_guessing_codes_or_keys_is_stopped(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")
    login = begin(accounts_hub)
    for number in range(MOST_FAILURES):
        wrong = (
            approve(accounts_hub, login.code, "no")
            if number % 2
            else approve(accounts_hub, "NOSUCH", key)
        )
        assert wrong.status_code in (401, 404)
    for refused in (
        approve(accounts_hub, login.code, key),
        accounts_hub.client().get(PAGE, params={"code": login.code}),
    ):
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 600
    assert login.poll().json() == {"result": None}
    accounts_hub.clock.wait(minutes=10)
    fresh = begin(accounts_hub)
    assert approve(accounts_hub, fresh.code, key).status_code == 200


def test_logins_from_one_place_are_limited_and_polling_is_not(accounts_hub: AccountsHub) -> None:
    first = begin(accounts_hub)
    for _ in range(MOST_LOGINS - 1):
        begin(accounts_hub)
    body = {"encryptionPublicKey": pem(PRIVATE_KEY.public_key())}
    refused = accounts_hub.client().post(GENERATE, json=body)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "600")
    for _ in range(MOST_LOGINS):
        with accounts_hub.statements() as seen:
            assert first.poll().status_code == 200
    assert not any("UPDATE" in statement or "INSERT" in statement for statement in seen)


KEYS: dict[str, Callable[[], str]] = {
    "empty": lambda: "",
    "words": lambda: "no key",
    "short": lambda: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    "long": lambda: "x" * 3000,
    "surrogate": lambda: "\ud800",
    "curve": lambda: pem(ec.generate_private_key(ec.SECP256R1()).public_key()),
    "small": lambda: pem(rsa.generate_private_key(65537, key_size=1024).public_key()),
    "exponent": lambda: pem(rsa.generate_private_key(3, key_size=2048).public_key()),
    "odd": lambda: pem(rsa.RSAPublicNumbers(65537, 2**4999 + 1).public_key()),
}


@pytest.mark.parametrize("kind", KEYS)
def test_public_key_that_protects_nothing_is_refused(accounts_hub: AccountsHub, kind: str) -> None:
    body = json.dumps({"encryptionPublicKey": KEYS[kind]()})
    assert accounts_hub.client().post(GENERATE, content=body).status_code == 422


def test_the_page_shows_the_code_and_where_it_was_requested(accounts_hub: AccountsHub) -> None:
    login = begin(accounts_hub)
    page = accounts_hub.client().get(PAGE, params={"code": login.code.lower()})
    assert page.status_code == 200
    assert login.code in page.text
    assert "127.0.0.1" in page.text
    assert "2026-11-21 12:00 UTC" in page.text
    assert accounts_hub.client().get(PAGE).status_code == 200


def test_page_is_harmless_to_show(accounts_hub: AccountsHub) -> None:
    page = accounts_hub.client().get(PAGE, params={"code": '"><script>alert(1)</script>'})
    assert page.status_code == 404
    assert "<script>" not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "origin": "http://hub.local"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_form_of_another_site_is_refused(
    accounts_hub: AccountsHub, headers: dict[str, str]
) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    form = {"code": login.code, "key": accounts_hub.key("ada"), "answer": "approve"}
    answer = accounts_hub.client().post(PAGE, data=form, headers=headers)
    assert answer.status_code == 403
    assert login.poll().json() == {"result": None}


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"x" * 20_000, 413), (b"code=%ff", 422), (b"a=1&" * 100, 422), (b"", 422)],
)
def test_an_invalid_form_is_refused(accounts_hub: AccountsHub, content: bytes, status: int) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": "http://hub.local"}
    assert accounts_hub.client().post(PAGE, content=content, headers=headers).status_code == status


def test_key_of_a_login_is_revoked_with_the_one_that_approved_it(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    leaked = issue_key(accounts_hub.hub, OPERATOR, "ada", name="leaked")
    first = begin(accounts_hub)
    approve(accounts_hub, first.code, leaked.key)
    second = begin(accounts_hub)
    approve(accounts_hub, second.code, first.key())
    line = [accounts_hub.client(key) for key in (leaked.key, first.key(), second.key())]
    assert [each.get(WHOAMI).status_code for each in line] == [200, 200, 200]
    made = list_entries(accounts_hub.hub, action="login.approve")
    assert [entry.detail["line"] for entry in made] == [
        [leaked.id, made[1].detail["key"]],
        [leaked.id],
    ]
    revoke_key(accounts_hub.hub, OPERATOR, leaked.id)
    assert [each.get(WHOAMI).status_code for each in line] == [401, 401, 401]


def test_login_that_is_approved_and_not_fetched_goes_with_the_key(
    accounts_hub: AccountsHub,
) -> None:
    accounts_hub.user("ada")
    leaked = issue_key(accounts_hub.hub, OPERATOR, "ada", name="leaked")
    login = begin(accounts_hub)
    approve(accounts_hub, login.code, leaked.key)
    revoke_key(accounts_hub.hub, OPERATOR, leaked.id)
    answer = login.poll()
    assert answer.status_code == 404
    assert "log in again" in answer.json()["hint"]


def test_login_that_the_operator_approved_stands_alone(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    login = begin(accounts_hub)
    approve_login_of(accounts_hub.hub, OPERATOR, login.code, "ada")
    key = accounts_hub.caller(login.key()).key_id
    assert [item.parent for item in list_keys(accounts_hub.hub, OPERATOR) if item.id == key] == [
        None
    ]
