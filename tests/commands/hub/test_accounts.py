"""`prime hub user`, `team`, `token`, `approve` and `audit` on a data folder."""

from pathlib import Path

import pytest

from prime_cli.commands.hub.options import HubData
from prime_cli.hub.services.key_management import issue_key
from prime_cli.hub.services.keys import find_caller
from prime_cli.hub.services.logins import begin_login, poll_login
from tests.helpers.cli import Prime
from tests.helpers.login_keys import PRIVATE_KEY, pem


@pytest.fixture
def hub(home: Path) -> tuple[str, str]:
    """The options that name a hub of its own."""
    return "--data", str(home / "served-hub")


def test_token_alone_is_on_stdout_and_works(prime: Prime, hub: tuple[str, str]) -> None:
    prime("hub", "user", "add", "ada", *hub).ok()
    made = prime("hub", "token", "add", "ada", "--scope", "read", "--expires", "30d", *hub).ok()
    (key,) = made.out.splitlines()
    caller = find_caller(HubData(Path(hub[1])).open(), key)
    assert caller is not None
    assert (caller.slug, caller.writes) == ("ada", frozenset())
    listed = prime("hub", "token", "list", "--output", "json", *hub).ok()
    assert listed.json[0]["prefix"] == key[:15]
    assert key not in listed.out
    prime("hub", "token", "remove", listed.json[0]["id"], *hub).ok()
    assert prime("hub", "token", "list", "--output", "json", *hub).ok().json == []


def test_users_and_teams_are_made_listed_and_removed(prime: Prime, hub: tuple[str, str]) -> None:
    for user in ("ada", "bob"):
        prime("hub", "user", "add", user, "--email", f"{user}@example.org", *hub).ok()
    prime("hub", "team", "add", "lab", "--member", "ada:admin", *hub).ok()
    prime("hub", "team", "add", "lab", "--member", "bob", *hub).ok()
    teams = prime("hub", "team", "list", "--output", "json", *hub).ok().json
    assert [(team["slug"], team["members"]) for team in teams] == [("lab", ["ada:admin", "bob"])]
    prime("hub", "team", "remove", "lab", "--member", "ada", "--yes", *hub).ok()
    assert "bob" in prime("hub", "team", "list", *hub).ok().out
    prime("hub", "team", "remove", "lab", "--yes", *hub).ok()
    prime("hub", "user", "remove", "bob", "--yes", *hub).ok()
    users = prime("hub", "user", "list", "--output", "json", *hub).ok().json
    assert [(user["slug"], user["email"]) for user in users] == [("ada", "ada@example.org")]


def test_members_are_added_all_or_none(prime: Prime, hub: tuple[str, str]) -> None:
    prime("hub", "user", "add", "ada", *hub).ok()
    asked = ("--member", "ada", "--member", "nobody-here")
    assert prime("hub", "team", "add", "lab", *asked, *hub).code == 6
    assert prime("hub", "team", "list", "--output", "json", *hub).ok().json == []


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("user", "add", "api"), 2),
        (("user", "add", "ada"), 7),
        (("team", "add", "ada"), 7),
        (("user", "remove", "bob", "--yes"), 6),
        (("token", "add", "bob"), 6),
        (("token", "add", "ada", "--expires", "soon"), 2),
        (("token", "add", "ada", "--owner", "lab"), 6),
        (("token", "remove"), 2),
        (("token", "remove", "key_1", "--user", "ada"), 2),
        (("token", "remove", "key_1"), 6),
        (("approve", "ABCDEFGH", "--user", "ada"), 6),
    ],
)
def test_what_cannot_be_done_is_reported(
    prime: Prime, hub: tuple[str, str], argv: tuple[str, ...], code: int
) -> None:
    prime("hub", "user", "add", "ada", *hub).ok()
    refused = prime("hub", *argv, *hub)
    assert refused.code == code, refused.err
    assert refused.out == ""


@pytest.mark.parametrize("noun", ["user", "team"])
def test_name_with_a_slash_is_not_found_by_its_name(
    prime: Prime, hub: tuple[str, str], noun: str
) -> None:
    prime("hub", "user", "add", "ada", *hub).ok()
    refused = prime("hub", noun, "remove", "ada/wordle", "--yes", *hub)
    assert refused.code == 6
    assert "`ada/wordle` not found" in refused.err


def test_login_is_approved_and_audited(prime: Prime, hub: tuple[str, str]) -> None:
    prime("hub", "user", "add", "ada", *hub).ok()
    served = HubData(Path(hub[1])).open()
    ticket = begin_login(served, "192.0.2.7", pem(PRIVATE_KEY.public_key()))
    prime("hub", "approve", ticket.challenge.lower(), "--user", "ada", *hub).ok()
    assert poll_login(served, ticket.challenge, ticket.status_auth_token).result
    (entry,) = prime("hub", "audit", "--action", "login.", "-o", "json", *hub).ok().json
    assert (entry["actor"], entry["target"]) == ("cli", "ada")
    assert entry["detail"]["from"] == "192.0.2.7"
    assert "user.create" in prime("hub", "audit", *hub).ok().out


def test_keys_made_with_a_leaked_one_are_listed_and_revoked_with_it(
    prime: Prime, hub: tuple[str, str]
) -> None:
    prime("hub", "user", "add", "ada", *hub).ok()
    leaked = prime("hub", "token", "add", "ada", "--scope", "admin", *hub).ok().out.strip()
    served = HubData(Path(hub[1])).open()
    caller = find_caller(served, leaked)
    assert caller is not None
    made = issue_key(served, caller, "ada", name="ci")
    newest, oldest = prime("hub", "token", "list", "-o", "json", *hub).ok().json
    assert (newest["parent"], oldest["parent"]) == (oldest["id"], None)
    assert "Parent" in prime("hub", "token", "list", *hub).ok().out
    said = prime("hub", "token", "remove", leaked[:15], *hub).ok().err
    assert f"Revoked `{leaked[:15]}`, and 1 key created with it" in said
    shown = prime("hub", "audit", "--action", "key.revoke", *hub).ok().out
    assert f"made_with_it={made.id}" in shown
    assert f"line={caller.key_id}" in prime("hub", "audit", *hub).ok().out
    assert f"prime hub audit --key {caller.key_id}" in said
    (entry,) = prime("hub", "audit", "--key", str(caller.key_id), "-o", "json", *hub).ok().json
    assert entry["action"] == "key.create"
