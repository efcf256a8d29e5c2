"""Who am I, and whom am I working with."""

import pytest

from tests.official.accounts import Accounts
from tests.official.projects import write_project
from tests.official.users import User, newer_releases

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]


def test_whoami_shows_the_user(user: User) -> None:
    said = user.prime("whoami").ok().out
    assert user.slug in said
    assert user.hub.accounts.whoami().id in said


def test_unknown_key_is_refused_and_reading_continues(user: User) -> None:
    refused = user.prime("whoami", variables={"PRIME_API_KEY": "not-a-key"})
    assert refused.code == 1
    assert "unauthorized" in refused.out.lower()
    user.prime("env", "list", variables={"PRIME_API_KEY": "not-a-key"}).ok()


def test_teams_are_listed(user: User, accounts: Accounts) -> None:
    assert user.read("teams", "list")["teams"] == []
    slug = f"team-of-{user.slug}"
    team_id = accounts.add_team(slug, user.slug)
    (team,) = user.read("teams", "list")["teams"]
    assert (team["teamId"], team["slug"], team["role"]) == (team_id, slug, "ADMIN")
    assert slug in user.prime("teams", "list").ok().out


@newer_releases
def test_members_of_a_team_are_listed(user: User, stranger: User, accounts: Accounts) -> None:
    slug = f"team-of-{user.slug}"
    team_id = accounts.add_team(slug, user.slug, stranger.slug)
    members = user.read("teams", "members", "--team-id", team_id)["members"]
    assert [member["role"] for member in members] == ["ADMIN", "ADMIN"]


@newer_releases
def test_switching_to_a_team_publishes_for_it(user: User, accounts: Accounts) -> None:
    slug = f"team-of-{user.slug}"
    accounts.add_team(slug, user.slug)
    user.prime("switch", slug).ok()
    assert slug in user.prime("whoami").ok().out
    project = write_project(user.prime.home / "word-play", "word-play")
    said = user.prime("env", "push", cwd=project).ok().out
    assert f"Successfully pushed {slug}/word-play" in said
    user.prime("switch", "personal").ok()
    assert slug not in user.prime("whoami").ok().out
