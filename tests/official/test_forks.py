"""Making somebody's public environment one's own."""

import pytest

from prime_cli.core.refs import EnvRef
from tests.official.accounts import Accounts
from tests.official.users import User, newer_releases

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]


@newer_releases
def test_fork_has_the_newest_version_of_the_original(user: User, stranger: User) -> None:
    ref = stranger.publish()
    forked = user.read("fork", ref.slug)
    assert (forked["slug"], forked["success"]) == (f"{user.slug}/tiny-env", True)
    detail = user.hub.environments.get(EnvRef(user.slug, "tiny-env"))
    assert (detail.id, detail.semantic_version) == (forked["environment_id"], "0.1.0")
    assert "Forked" not in user.prime("fork", ref.slug).out


@newer_releases
def test_fork_goes_to_a_team(user: User, stranger: User, accounts: Accounts) -> None:
    team = f"team-of-{user.slug}"
    accounts.add_team(team, user.slug)
    ref = stranger.publish()
    assert (
        f"Forked {ref.slug} to {team}/tiny-env"
        in user.prime("fork", ref.slug, "--team", team).ok().out
    )


@newer_releases
def test_private_environment_of_others_cannot_be_forked(user: User, stranger: User) -> None:
    ref = stranger.publish(visibility="PRIVATE")
    refused = user.prime("fork", ref.slug)
    assert (refused.code, "404" in refused.out) == (1, True)
