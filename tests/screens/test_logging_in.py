"""Logging in and choosing a team at a real terminal."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import prime_process
from tests.helpers.scripted_hub import ScriptedHub
from tests.helpers.team_hub import TeamHub
from tests.helpers.terminal import Terminal
from tests.screens.asking import CTRL_C, decline_then_agree

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("needs_terminal")]

KEY = "pit_planted_key"
TEAMS = [
    {
        "teamId": f"cmteam{number}",
        "name": name,
        "slug": slug,
        "role": "ADMIN",
        "createdAt": "2026-11-21T02:16:21Z",
    }
    for number, (slug, name) in enumerate([("acme", "Acme Research"), ("evil", "\x1b[2JEvil")])
]


@pytest.fixture
def hub() -> Iterator[ScriptedHub]:
    """A hub that lets everybody in, who is then in two teams."""
    with ScriptedHub() as scripted:
        scripted.grant(KEY)
        scripted.answer("GET /user/teams", {"data": TEAMS, "total_count": 2})
        yield scripted


def log_in(hub: ScriptedHub) -> None:
    words = ("login", "--hub", hub.url, "--name", "team", "--token-stdin")
    prime_process(*words, stdin=KEY).ok()


def test_the_page_is_shown_while_a_bar_says_what_is_waited_for(hub: ScriptedHub) -> None:
    with Terminal("login", "--hub", hub.url) as terminal:
        terminal.wait_for("Waiting for approval of CB241826")
        terminal.wait_for("Logged in to")
        assert terminal.end() == 0
        assert f"{hub.url}/dashboard/tokens/challenge?code=CB241826" in terminal.text
        assert "Waiting" not in terminal.text
        assert "prime switch" in terminal.text
        assert KEY not in "".join(terminal.seen)


def test_ctrl_c_ends_the_waiting_cleanly(hub: ScriptedHub) -> None:
    hub.grant_result(lambda _: None)
    with Terminal("login", "--hub", hub.url) as terminal:
        terminal.wait_for("Waiting for approval of CB241826")
        terminal.type("\x03")
        assert terminal.end() == 130
        assert "Traceback" not in terminal.text
    assert prime_process("context", "list", "-o", "json").ok().json["current"] == "local"


def test_a_key_that_is_typed_is_not_seen(hub: ScriptedHub) -> None:
    with Terminal("login", "--hub", hub.url, "--token-stdin") as terminal:
        terminal.wait_for("Key:")
        terminal.type(f"{KEY}\n")
        terminal.wait_for("Logged in to")
        assert terminal.end() == 0
        assert KEY not in "".join(terminal.seen)


def test_who_is_in_no_team_is_not_asked(hub: ScriptedHub) -> None:
    log_in(hub)
    hub.answer("GET /user/teams", {"data": [], "total_count": 0})
    with Terminal("switch") as terminal:
        assert terminal.end() == 0, terminal.text
        assert "You are not in a team" in terminal.text
        assert "[1-" not in terminal.text


@pytest.mark.parametrize("keys", ["\n", "\x04", "\x03", "9\n", "\u6f22\u5b57\n", "1" * 3000 + "\n"])
def test_no_team_is_chosen_without_an_answer(hub: ScriptedHub, keys: str) -> None:
    log_in(hub)
    prime_process("switch", "acme").ok()
    with Terminal("switch", "-q", columns=40) as terminal:
        terminal.wait_for("[1-3]")
        terminal.type(keys)
        assert terminal.end() == (130 if keys in ("\n", "\x04", "\x03") else 2), terminal.text
        assert terminal.is_clean
    assert prime_process("context", "show", "-o", "json").ok().json["team"] == "acme"


@pytest.mark.parametrize("keys", ["\n", "\x04", f"{KEY}\x03"])
def test_no_login_is_made_without_a_key(hub: ScriptedHub, keys: str) -> None:
    with Terminal("login", "--hub", hub.url, "--token-stdin") as terminal:
        terminal.wait_for("Key:")
        terminal.type(keys)
        assert terminal.end() == 130, terminal.text
        assert terminal.is_clean  # what is typed next is seen again
        assert KEY.encode() not in terminal.written
    assert not hub.seen


@pytest.mark.parametrize(("answer", "team"), [("1", None), ("2", "acme"), ("3", "evil")])
def test_a_team_is_chosen_by_its_number(hub: ScriptedHub, answer: str, team: str | None) -> None:
    log_in(hub)
    with Terminal("switch") as terminal:
        screen = terminal.wait_for("[1-3]")
        assert re.search(r"2 +acme \(Acme Research\), admin", screen)
        terminal.type(f"{answer}\n")
        assert terminal.end() == 0
    shown = prime_process("context", "show", "-o", "json").ok().json
    assert shown["team"] == team


def test_a_context_with_a_key_is_deleted_after_a_yes(hub: ScriptedHub) -> None:
    log_in(hub)
    with Terminal("context", "delete", "team") as terminal:
        terminal.wait_for("Delete `team` and its key?")
        terminal.type("n\n")
        assert terminal.end() == 130
    assert prime_process("whoami").ok()


def test_an_invitation_is_pasted_and_a_name_typed(team_hub: TeamHub, tmp_path: Path) -> None:
    team = team_hub.add_team()
    link = team_hub.invite(team)
    with Terminal("join", cwd=tmp_path) as terminal:
        terminal.wait_for("Invitation:")
        terminal.type(f"{link}\n")
        screen = terminal.wait_for("Your new user name there? [")
        assert f"to its team `{team}` as member" in " ".join(screen.split())
        terminal.type(f"{team}-fan\n")
        assert terminal.end() == 0, terminal.text
        assert link not in terminal.text
    assert prime_process("whoami", "-o", "json").ok().json["slug"] == f"{team}-fan"
    assert team_hub.members_of(team) == [f"{team}-fan"]


def test_a_team_is_left_after_a_yes(team_hub: TeamHub, tmp_path: Path) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user, team_hub.add_user())
    words = ("login", "--hub", team_hub.url, "--name", "team", "--token-stdin")
    prime_process(*words, stdin=team_hub.add_key(user)).ok()
    decline_then_agree(
        *("teams", "remove", team, user),
        asked=f"Remove {user} from the team `{team}`?",
        kept="Nothing was removed",
        state=lambda: team_hub.members_of(team),
        cwd=tmp_path,
        refusals=("n\n", CTRL_C),
    )
