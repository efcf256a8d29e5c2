"""Inviting somebody, and what that person types on a machine where prime was never used."""

import io
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prime_cli.hub.services.users import create_user
from prime_cli.session import Session
from tests.helpers.cli import Prime, Result
from tests.hub.accounts_hub import OPERATOR, URL, AccountsHub


@dataclass
class People:
    """Each has a machine, whose home is empty at first; the hub is elsewhere."""

    prime: Prime
    folder: Path
    hub: AccountsHub

    def __call__(self, person: str, *words: str, **more: Any) -> Result:
        """What `person` types."""
        home = {"PRIME_HOME": str(self.folder / person)}
        return self.prime(*words, env=home, **more)

    def types(self, person: str, command: str, *more: str) -> Result:
        """The command that somebody was sent."""
        program, *words = shlex.split(command)
        assert program == "prime"
        return self(person, *words, "--storage", "file", *more)

    def log_in(self, person: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Log in with a key of the hub."""
        monkeypatch.setattr("sys.stdin", io.StringIO(key))
        words = ("login", "--hub", URL, "--name", "team", "--token-stdin", "--allow-http")
        self(person, *words, "--storage", "file").ok()


@pytest.fixture
def people(prime: Prime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    """Root, an admin of the hub, and ada, an admin of the team `lab`, are logged in."""
    hub = AccountsHub(tmp_path / "served")
    prime.make_session = lambda: Session(hub.transport())
    people = People(prime, tmp_path, hub)
    create_user(hub.hub, OPERATOR, "root-user", admin=True)
    create_user(hub.hub, OPERATOR, "ada")
    hub.team("lab", ada="ADMIN")
    for person, user in (("root", "root-user"), ("ada", "ada")):
        people.log_in(person, hub.key(user, scope="admin"), monkeypatch)
    return people


def test_one_command_leads_from_an_invitation_to_a_working_whoami(people: People) -> None:
    sent = people("root", "hub", "invite", "bob", "--team", "lab:admin", "--context", "team").ok()
    assert "lets `bob` into the team `lab` until" in sent.err
    joined = people.types("bob", sent.out).ok()
    assert "`root-user` invites you to http://hub.local, and to its team `lab`" in joined.err
    assert "keep another one in a safe place" in joined.err
    me = people("bob", "whoami", "-o", "json").ok().json
    assert (me["slug"], me["hub"]) == ("bob", URL)
    people("bob", "switch", "lab").ok()
    people("bob", "keys", "create", "--name", "spare", "--scope", "admin").ok()
    assert people.types("eve", sent.out).code == 6


def test_the_only_key_of_a_new_user_is_not_thrown_away(people: People) -> None:
    sent = people("root", "hub", "invite", "bob", "--context", "team").ok()
    people.types("bob", sent.out).ok()
    refused = people("bob", "logout")
    assert (refused.code, "This is your only key to hub.local" in refused.err) == (7, True)
    spare = people("bob", "keys", "create", "--name", "spare", "--scope", "admin").ok().out.strip()
    people("bob", "logout").ok()
    with pytest.MonkeyPatch.context() as patch:
        people.log_in("bob", spare, patch)
    assert people("bob", "whoami", "-o", "json").ok().json["slug"] == "bob"


def test_a_name_is_chosen_where_the_invitation_has_none(people: People) -> None:
    words = ("hub", "invite", "--uses", "2", "--data", str(people.folder / "served"))
    sent = people("operator", *words, "--public-url", URL).ok()
    refused = people.types("bob", sent.out)
    assert (refused.code, "answer with `--user`" in refused.err) == (2, True)
    taken = people.types("bob", sent.out, "--user", "ada")
    assert (taken.code, "choose another with `--user`" in taken.err) == (7, True)
    assert people.types("bob", sent.out, "--user", "bob", "-o", "json").ok().json == {
        "context": "hub.local",
        "hub": URL,
        "id": people("bob", "whoami", "-o", "json").ok().json["id"],
        "owner": "bob",
        "team": None,
        "storage": "file",
        "joined": None,
        "role": None,
    }


def test_a_user_joins_a_team_by_its_admins_invitation(people: People) -> None:
    create_user(people.hub.hub, OPERATOR, "bob")
    sent = people("ada", "teams", "invite", "lab", "--output", "json").ok().json
    assert (sent["by"], sent["role"], sent["sign_up"]) == ("ada", "member", False)
    stranger = people.types("stranger", sent["command"])
    assert (stranger.code, "log in first: `prime login --hub" in stranger.err) == (4, True)
    with pytest.MonkeyPatch.context() as patch:
        people.log_in("bob", people.hub.key("bob"), patch)
    wrong = people.types("bob", sent["command"], "--user", "eve")
    assert (wrong.code, "You are logged in to http://hub.local as bob" in wrong.err) == (2, True)
    joined = people.types("bob", sent["command"]).ok()
    assert "You are now in the team `lab`" in joined.err
    assert "prime switch lab" in joined.err


def test_invitations_are_listed_without_their_links_and_revoked(people: People) -> None:
    sent = people("ada", "teams", "invite", "lab", "bob", "--expires", "2d").ok()
    elsewhere = people("root", "hub", "invite", "--context", "team").ok()
    (listed,) = people("ada", "teams", "invitations", "-o", "json").ok().json["invitations"]
    everything = people("root", "hub", "invitations", "--context", "team").ok().out
    assert listed["id"] in everything
    assert "prime_inv_" not in everything + str(listed)
    assert people("ada", "hub", "invite", "--context", "team").code == 4
    people("ada", "teams", "revoke-invitation", listed["id"]).ok()
    assert people.types("bob", sent.out).code == 6
    (other,) = (
        people("root", "hub", "invitations", "--context", "team", "-o", "json")
        .ok()
        .json["invitations"]
    )
    people("root", "hub", "revoke-invitation", other["id"], "--context", "team").ok()
    assert people.types("bob", elsewhere.out, "--user", "bob").code == 6


@pytest.mark.parametrize(
    "text", ["nonsense", "https://hub.example.org/join", "http://x/join#token", "#prime_inv_1"]
)
def test_what_is_no_invitation_is_refused_before_anything_is_asked(
    people: People, text: str
) -> None:
    refused = people("bob", "join", text)
    assert (refused.code, "This is not an invitation" in refused.err) == (2, True)


def test_a_part_of_an_invitation_is_not_shown_again(people: People) -> None:
    refused = people("bob", "join", "https://hub.example.org/prime_inv_secret")
    assert refused.code == 2
    assert "secret" not in refused.err + refused.out


def test_a_link_over_http_is_followed_only_where_the_command_allows_it(people: People) -> None:
    link = people("root", "hub", "invite", "--context", "team", "-o", "json").ok().json["link"]
    refused = people("bob", "join", link, "--user", "bob")
    assert (refused.code, "--allow-http" in refused.err) == (2, True)


def test_an_invitation_is_read_from_stdin(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = people("root", "hub", "invite", "bob", "--context", "team").ok()
    monkeypatch.setattr("sys.stdin", io.StringIO(sent.out))
    people("bob", "teams", "join", "--allow-http", "--storage", "file").ok()
    assert people("bob", "whoami", "-o", "json").ok().json["slug"] == "bob"
