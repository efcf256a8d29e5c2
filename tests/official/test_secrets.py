"""Secrets and variables of a user and of an environment."""

import pytest

from tests.official.users import User, newer_releases

pytestmark = [pytest.mark.slow, newer_releases, pytest.mark.sample(1, "release")]


def test_secret_of_a_user_is_made_listed_changed_and_deleted(user: User) -> None:
    value = ("--value", "s3cret-value")
    made = user.read("secret", "create", "--name", "API_TOKEN", *value, "--description", "old")
    (listed,) = user.read("secret", "list")["secrets"]
    assert (listed["id"], listed["name"], listed["description"]) == (made["id"], "API_TOKEN", "old")
    user.prime("secret", "update", made["id"], "--description", "new").ok()
    shown = user.prime("secret", "get", made["id"]).ok().out
    assert "new" in shown
    assert "s3cret-value" not in shown
    taken = user.prime("secret", "create", "--name", "API_TOKEN", *value)
    assert taken.code == 1
    assert "409" in taken.out
    user.prime("secret", "delete", made["id"], "--yes").ok()
    assert user.read("secret", "list")["secrets"] == []


def test_secret_of_a_user_is_not_found_by_others(user: User, stranger: User) -> None:
    made = user.read("secret", "create", "--name", "API_TOKEN", "--value", "x")
    assert stranger.read("secret", "list")["secrets"] == []
    assert "404" in stranger.prime("secret", "get", made["id"]).out


def test_secret_of_an_environment_is_made_listed_changed_and_deleted(user: User) -> None:
    slug = user.publish().slug
    secret = ("env", "secret")
    made = user.read(*secret, "create", slug, "--name", "API_TOKEN", "--value", "x")
    (listed,) = user.read(*secret, "list", slug)["secrets"]
    assert (listed["id"], listed["name"]) == (made["id"], "API_TOKEN")
    changed = user.read(*secret, "update", slug, "--id", made["id"], "--name", "OTHER_TOKEN")
    assert changed["name"] == "OTHER_TOKEN"
    user.prime(*secret, "delete", slug, "--id", made["id"], "--yes").ok()
    assert "No secrets found" in user.prime(*secret, "list", slug).ok().out


def test_secret_of_a_user_is_linked_and_unlinked(user: User) -> None:
    slug = user.publish().slug
    made = user.read("secret", "create", "--name", "API_TOKEN", "--value", "x")
    linked = user.read("env", "secret", "link", made["id"], slug)
    assert (linked["secretId"], linked["secretName"]) == (made["id"], "API_TOKEN")
    (listed,) = user.read("env", "secret", "list", slug)["secrets"]
    assert listed["name"] == "API_TOKEN"
    user.prime("env", "secret", "unlink", made["id"], slug, "--yes").ok()
    assert user.read("env", "secret", "list", slug)["secrets"] == []


def test_variable_is_made_listed_changed_and_deleted(user: User) -> None:
    slug = user.publish().slug
    variable = ("env", "var")
    made = user.read(*variable, "create", slug, "--name", "SIZE", "--value", "3")
    (listed,) = user.read(*variable, "list", slug)["variables"]
    assert (listed["name"], listed["value"]) == ("SIZE", "3")
    assert "SIZE" in user.prime(*variable, "list", slug).ok().out
    changed = user.read(*variable, "update", made["id"], slug, "--value", "4")
    assert (changed["name"], changed["value"]) == ("SIZE", "4")
    user.prime(*variable, "delete", made["id"], slug, "--yes").ok()
    assert user.read(*variable, "list", slug)["variables"] == []


def test_secrets_of_an_environment_are_not_found_by_others(user: User, stranger: User) -> None:
    slug = user.publish(visibility="PRIVATE").slug
    refused = stranger.prime("env", "secret", "list", slug)
    assert (refused.code, "404" in refused.out) == (1, True)
