"""`prime keys` on a hub with accounts, as two users type it."""

from pathlib import Path

import pytest

from prime_cli.session import Session
from tests.helpers.cli import Prime, Result
from tests.hub.accounts_hub import URL, AccountsHub
from tests.hub.pushing import data


class Desk:
    """Types commands at a hub with accounts, with somebody's key."""

    def __init__(self, prime: Prime, folder: Path) -> None:
        self.hub = AccountsHub(folder / "served")
        self._prime = prime
        prime.make_session = lambda: Session(self.hub.transport())

    def add(self, user: str, **rights: str) -> str:
        """A new user's key."""
        self.hub.user(user)
        return self.hub.key(user, **rights)

    def __call__(self, key: str, line: str) -> Result:
        variables = {"PRIME_API_BASE_URL": URL, "PRIME_API_KEY": key}
        return self._prime(*line.split(), "--output", "json", env=variables)


@pytest.fixture
def desk(prime: Prime, tmp_path: Path) -> Desk:
    return Desk(prime, tmp_path)


def test_a_key_is_created_used_listed_and_revoked(desk: Desk) -> None:
    key = desk.add("ada", scope="admin")
    desk.hub.team("lab", ada="ADMIN")
    made = desk(key, "keys create --name ci --scope read --owner lab --expires 30d").ok().json
    assert (made["scope"], made["owner"]) == ("read", "lab")
    assert desk(made["key"], "whoami").ok().json["slug"] == "ada"
    listed = desk(key, "keys list").ok().json["keys"]
    (shown,) = [each for each in listed if each["name"] == "ci"]
    assert (shown["id"], shown["owner"], shown["current"]) == (made["id"], "lab", False)
    assert made["key"] not in str(listed)
    revoked = desk(key, "keys revoke ci --yes").ok()
    assert revoked.json == {"id": made["id"], "revoked": 1}
    assert desk(made["key"], "keys list").code == 4


def test_a_key_that_made_others_takes_them_along(desk: Desk) -> None:
    key = desk.add("ada", scope="admin")
    made = desk(key, "keys create --name child").ok().json
    revoked = desk(key, "keys revoke current --yes").ok()
    assert revoked.json["revoked"] == 2
    assert "and 1 key created with it" in revoked.err
    assert desk(made["key"], "keys list").code == 4


def test_a_key_that_may_only_write_creates_none_and_sees_itself(desk: Desk) -> None:
    desk.add("ada", scope="admin")
    key = desk.hub.key("ada", name="laptop")
    refused = desk(key, "keys create")
    assert (refused.code, "scope `admin`" in refused.err) == (4, True)
    assert [each["name"] for each in desk(key, "keys list").ok().json["keys"]] == ["laptop"]


def test_another_users_key_is_not_found_and_deletion_is_confirmed(desk: Desk) -> None:
    ada, bob = desk.add("ada", scope="admin"), desk.add("bob", scope="admin")
    (theirs,) = [each for each in desk(bob, "keys list").ok().json["keys"] if each["current"]]
    assert desk(ada, f"keys revoke {theirs['id']} --yes").code == 6
    asked = desk(bob, "keys revoke current")
    assert (asked.code, "--yes" in asked.err) == (2, True)


def test_the_local_hub_has_no_keys(prime: Prime) -> None:
    result = prime("keys", "list")
    assert result.code == 2
    assert "`local` hub has no API keys" in result.err


def test_a_team_keeps_its_secrets_from_others(desk: Desk) -> None:
    ada, eve = desk.add("ada"), desk.add("eve")
    desk.hub.team("lab", ada="MEMBER")
    assert desk(ada, "secret list --team lab").ok().json == {"secrets": []}
    refused = desk(eve, "secret list --team lab")
    assert (refused.code, "not in a team `lab`" in refused.err) == (6, True)


def test_a_bad_key_is_named_with_its_source(desk: Desk) -> None:
    refused = desk("bogus", "env list --mine")
    assert (refused.code, refused.out) == (4, "")
    assert "The API key is not valid: it is unknown, revoked or expired" in refused.err
    assert "this was the key `bo…` from PRIME_API_KEY; log in with `prime login`" in refused.err
    desk("bogus", "env list").ok()


def test_a_stored_key_that_was_revoked_is_named_with_its_file(desk: Desk, prime: Prime) -> None:
    key = desk.add("ada")
    prime("login", "--hub", URL, "--allow-http", "--token-stdin", stdin=key).ok()
    data(desk.hub.client(key).delete("/api/v1/user/keys/current"))
    refused = prime("env", "info", "nobody/nothing")
    assert refused.code == 4
    assert f"this was the key `{key[:15]}…` from " in refused.err
    assert "credentials.toml" in refused.err
