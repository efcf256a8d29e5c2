"""Choosing a team, and what is published for it then."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from tests.helpers.cli import Prime, Result
from tests.helpers.scripted_hub import ScriptedHub
from tests.helpers.team_hub import TeamHub
from tests.helpers.wild import write_project

PUBLIC_TEAM = {
    "teamId": "cmteam0000000000000000000",
    "name": "Team X",
    "slug": "team-x",
    "role": "ADMIN",
    "createdAt": "2026-11-21T02:16:21Z",
}


def log_in(prime: Callable[..., Result], url: str, key: str) -> None:
    words = ("login", "--hub", url, "--name", "team", "--token-stdin")
    prime(*words, stdin=key).ok()


def test_a_team_is_chosen_and_left(prime: Prime, team_hub: TeamHub) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user)
    log_in(prime, team_hub.url, team_hub.add_key(user))
    assert f"use the team {team}" in prime("switch", team).ok().err
    (listed,) = prime("teams", "list", "-o", "json").ok().json["teams"]
    assert (listed["slug"], listed["current"]) == (team, True)
    (member,) = prime("team", "members", "-o", "json").ok().json["members"]
    assert (member["userName"], member["role"]) == (user, "ADMIN")
    found = prime("whoami", "-o", "json").ok().json
    assert (found["team"]["slug"], found["owner"]) == (team, user)
    by_id = prime("switch", listed["teamId"], "-o", "json").ok().json
    assert by_id == {"context": "team", "team": team}
    prime("switch", "personal").ok()
    assert prime("whoami", "-o", "json").ok().json["team"] is None


def test_what_is_uploaded_is_the_teams_unless_one_says_otherwise(
    prime: Prime, team_hub: TeamHub, tmp_path: Path
) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user)
    log_in(prime, team_hub.url, team_hub.add_key(user))
    prime("switch", team).ok()
    write_project(tmp_path)
    words = ("env", "upload", "tiny-env", "--no-check", "--output", "json")
    published = prime(*words, cwd=tmp_path).ok()
    assert published.json["environment"] == f"{team}/tiny-env"
    assert f"For the team `{team}`" in published.err
    again = prime(*words, cwd=tmp_path).ok()
    assert again.json["already"]
    own = prime(*words, "--owner", user, cwd=tmp_path).ok()
    assert own.json["environment"] == f"{user}/tiny-env"
    personal = prime(*words, cwd=tmp_path, env={"PRIME_TEAM": "personal"}).ok()
    assert personal.json["environment"] == f"{user}/tiny-env"


@pytest.mark.slow
def test_a_push_is_the_teams_and_finds_its_environment(
    prime: Prime, team_hub: TeamHub, tmp_path: Path
) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user)
    log_in(prime, team_hub.url, team_hub.add_key(user))
    prime("switch", team).ok()
    write_project(tmp_path)
    prime("env", "upload", "tiny-env", "--no-check", cwd=tmp_path).ok()
    words = ("eval", "run", "tiny-env", "-m", "builtin/echo", "-n", "1", "--push")
    run = prime(*words, cwd=tmp_path)
    assert f"{team}/tiny-env" in run.err
    listed = prime("eval", "list", "--hub", "-o", "json").ok().json["evaluations"]
    assert [each["environment_names"] for each in listed] == [[f"{team}/tiny-env"]]


@pytest.mark.sample(1, "variable")
@pytest.mark.parametrize("variable", ["PRIME_TEAM", "PRIME_TEAM_ID"])
def test_a_variable_decides_alone(prime: Prime, team_hub: TeamHub, variable: str) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user)
    log_in(prime, team_hub.url, team_hub.add_key(user))
    refused = prime("switch", "personal", env={variable: team})
    assert refused.code == 2
    assert f"set by the variable {variable}" in refused.err
    assert prime("whoami", "-o", "json", env={variable: team}).ok().json["team_source"] == variable
    assert f"{variable} is set but empty" in prime("whoami", env={variable: " "}).err


def test_a_team_that_one_is_not_in_is_not_found(prime: Prime, team_hub: TeamHub) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user)
    log_in(prime, team_hub.url, team_hub.add_key(user))
    result = prime("switch", team[:-1])
    assert result.code == 6
    assert f"did you mean `{team}`?" in result.err


def test_a_team_that_one_has_left_is_not_kept_by_a_login(prime: Prime, team_hub: TeamHub) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user, team_hub.add_user())
    key = team_hub.add_key(user)
    log_in(prime, team_hub.url, key)
    prime("switch", team).ok()
    team_hub.remove_member(team, user)
    assert prime("whoami").code == 6
    again = prime("login", "--name", "team", "--token-stdin", stdin=key).ok()
    assert f"You are not in the team `{team}`" in again.err
    assert prime("whoami", "-o", "json").ok().json["team"] is None


def test_the_choice_is_listed_where_nobody_can_be_asked(prime: Prime, team_hub: TeamHub) -> None:
    user = team_hub.add_user()
    team = team_hub.add_team(user)
    log_in(prime, team_hub.url, team_hub.add_key(user))
    result = prime("switch")
    assert result.code == 2
    assert f"personal, {team}" in result.err


def test_the_local_hub_has_no_teams(prime: Prime) -> None:
    assert "has no teams" in prime("switch", "acme").err


def test_the_public_hub_gets_the_id_it_expects(prime: Prime, scripted: ScriptedHub) -> None:
    scripted.grant("pit_1")
    scripted.answer("GET /user/teams", {"data": [PUBLIC_TEAM], "total_count": 1})
    log_in(prime, scripted.url, "pit_1")
    prime("switch", "team-x").ok()
    assert "team-x (Team X), admin" in prime("whoami").ok().out


WRONG_TEAMS: tuple[dict[str, object], ...] = (
    {"slug": "../../user"},
    {"slug": "\x1b[2J"},
    {"slug": 'x"\n[contexts.prime]'},
    {"teamId": "a/b"},
    {"slug": 7},
    {"role": 7},
)


def test_a_team_that_cannot_be_one_is_not_written_down(
    prime: Prime, scripted: ScriptedHub, home: Path
) -> None:
    scripted.grant("pit_1")
    log_in(prime, scripted.url, "pit_1")
    before = (home / ".prime" / "config.toml").read_bytes()
    commands = cycle(("switch team-x", "teams list", "teams members team-x"))
    for wrong, words in zip(WRONG_TEAMS, commands, strict=False):
        scripted.answer("GET /user/teams", {"data": [{**PUBLIC_TEAM, **wrong}]})
        result = prime(*words.split())
        assert (result.code, result.out) == (5, ""), wrong
        assert "\x1b" not in result.err
        assert (home / ".prime" / "config.toml").read_bytes() == before


def test_pages_without_end_are_left(prime: Prime, scripted: ScriptedHub) -> None:
    scripted.grant("pit_1")
    log_in(prime, scripted.url, "pit_1")
    many = {"data": [PUBLIC_TEAM] * 1000, "total_count": 10**9}
    scripted.answer("GET /user/teams", many)
    assert prime("teams", "list", "-o", "json").ok().json["total_count"] == 10_000
