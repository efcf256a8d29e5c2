"""Listing: every filter and every order that a release has."""

from typing import Any

import pytest

from tests.helpers.official import KNOWN, OLDEST
from tests.official.accounts import Accounts
from tests.official.users import WITHOUT_KEY, User, newer_releases

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]


def names(user: User, *options: str, **more: Any) -> list[str]:
    """The names in a list, without their owners."""
    found = user.read("env", "list", *options, **more)["environments"]
    return [each["environment"].split("/")[1] for each in found]


@pytest.fixture
def shelf(user: User) -> User:
    """The user, with three environments."""
    user.publish("beta-env", tags=("maths", "easy"))
    user.publish("alpha-env", tags=("maths",))
    user.publish("gamma-env", visibility="PRIVATE")
    return user


def test_list_shows_owner_name_description_and_visibility(shelf: User) -> None:
    found = shelf.read("env", "list", "--owner", shelf.slug)
    assert [each["environment"] for each in found["environments"]] == [
        f"{shelf.slug}/{name}" for name in ("gamma-env", "alpha-env", "beta-env")
    ]
    newest = found["environments"][0]
    assert newest["description"] == "A tiny environment"
    assert (newest["visibility"], found["total"]) == ("PRIVATE", 3)
    assert f"{shelf.slug}/alpha-env" in shelf.prime("env", "list", "--owner", shelf.slug).ok().out


def test_list_is_filtered_by_visibility(shelf: User) -> None:
    mine = ("--owner", shelf.slug, "--visibility")
    assert names(shelf, *mine, "PRIVATE") == ["gamma-env"]
    assert names(shelf, *mine, "PUBLIC") == ["alpha-env", "beta-env"]


def test_private_environment_is_in_no_list_of_others(shelf: User, stranger: User) -> None:
    assert names(stranger, "--owner", shelf.slug) == ["alpha-env", "beta-env"]
    assert names(stranger, "--owner", shelf.slug, variables=WITHOUT_KEY) == [
        "alpha-env",
        "beta-env",
    ]


def test_owner_without_environments_has_an_empty_list(user: User) -> None:
    assert "No environments found" in user.prime("env", "list", "--owner", user.slug).ok().out


@newer_releases
def test_list_is_sorted_by_what_is_asked(shelf: User) -> None:
    mine = ("--owner", shelf.slug)
    assert names(shelf, *mine, "--sort", "name", "--order", "asc") == [
        "alpha-env",
        "beta-env",
        "gamma-env",
    ]
    by_update = names(shelf, *mine, "--sort", "updated_at", "--order", "asc")
    assert by_update == ["beta-env", "alpha-env", "gamma-env"]
    assert names(shelf, *mine, "--sort", "created_at", "--order", "desc") == by_update[::-1]
    assert sorted(names(shelf, *mine, "--sort", "stars")) == sorted(by_update)


@newer_releases
def test_list_is_filtered_by_words_tags_and_stars(shelf: User) -> None:
    mine = ("--owner", shelf.slug)
    assert names(shelf, *mine, "--search", "gamma") == ["gamma-env"]
    assert names(shelf, *mine, "--tag", "maths", "--tag", "easy") == ["beta-env"]
    assert names(shelf, *mine, "--tag", "maths") == ["alpha-env", "beta-env"]
    assert names(shelf, *mine, "--starred") == []


@newer_releases
def test_own_environments_are_those_of_the_user_and_of_teams(
    shelf: User, stranger: User, accounts: Accounts
) -> None:
    assert sorted(names(shelf, "--mine")) == ["alpha-env", "beta-env", "gamma-env"]
    assert names(stranger, "--mine") == []


@newer_releases
def test_pages_are_cut_where_asked_and_count_everything(shelf: User) -> None:
    mine = ("--owner", shelf.slug, "--sort", "name", "--order", "asc", "--num", "2")
    first = shelf.read("env", "list", *mine)
    assert (len(first["environments"]), first["total"]) == (2, 3)
    assert names(shelf, *mine, "--page", "2") == ["gamma-env"]
    assert names(shelf, *mine, "--page", "3") == []


@pytest.mark.parametrize("release", [KNOWN[OLDEST]], ids=[OLDEST], indirect=True)
def test_offset_and_limit_are_those_of_the_hub(shelf: User) -> None:
    assert names(shelf, "--owner", shelf.slug, "--limit", "1", "--offset", "1") == ["alpha-env"]
