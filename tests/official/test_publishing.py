"""Pushing as authors do: the first time, again, after a change, for others and in private."""

from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from tests.official.accounts import Accounts
from tests.official.projects import write_project
from tests.official.users import WITHOUT_KEY, User, newer_releases

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]


@pytest.fixture
def project(user: User) -> Path:
    return write_project(user.prime.home / "word-play", "word-play")


def test_first_push_makes_the_environment_and_its_first_version(user: User, project: Path) -> None:
    said = user.prime("env", "push", cwd=project).ok().out
    assert f"Successfully pushed {user.slug}/word-play" in said
    assert f"/dashboard/environments/{user.slug}/word-play" in said
    detail = user.hub.environments.get(EnvRef(user.slug, "word-play"))
    assert (detail.semantic_version, detail.visibility) == ("0.1.0", "PUBLIC")
    assert detail.metadata.tags == ["tiny", "single-turn"]


def test_same_content_again_gets_the_official_advice(user: User, project: Path) -> None:
    user.prime("env", "push", cwd=project).ok()
    again = user.prime("env", "push", cwd=project)
    assert again.code == 1
    assert "already exists" in again.out
    assert "ensure the content has actually changed" in again.out


def test_changed_content_under_the_same_version_is_refused(user: User, project: Path) -> None:
    user.prime("env", "push", cwd=project).ok()
    module = project / "word_play.py"
    module.write_text(module.read_text() + "\nMORE = 1\n")
    again = user.prime("env", "push", cwd=project)
    assert again.code == 1
    assert "is already published with other content" in again.out
    assert "ensure the content" not in again.out


def test_bumped_versions_are_listed_newest_first_and_deleted_by_hash(
    user: User, project: Path
) -> None:
    slug = f"{user.slug}/word-play"
    user.prime("env", "push", cwd=project).ok()
    user.prime("env", "push", "--auto-bump", cwd=project).ok()
    said = user.prime("env", "version", "list", slug).ok().out
    assert said.index("0.1.1") < said.index("0.1.0")
    assert "Latest version: 0.1.1" in said

    newest, oldest = user.hub.environments.versions(EnvRef.parse(slug))
    assert newest.sha256[:8] in said
    gone = user.prime("env", "version", "delete", slug, newest.sha256[:8], "--force").ok().out
    assert "deleted" in gone
    assert [each.sha256 for each in user.hub.environments.versions(EnvRef.parse(slug))] == [
        oldest.sha256
    ]
    unknown = user.prime("env", "version", "delete", slug, "0123456789", "--force")
    assert unknown.code == 1
    assert "not found" in unknown.out


def test_deleted_environment_is_gone(user: User) -> None:
    ref = user.publish()
    assert "deleted successfully" in user.prime("env", "delete", ref.slug, "--force").ok().out
    with pytest.raises(NotFound):
        user.hub.environments.get(ref)
    again = user.prime("env", "delete", ref.slug, "--force")
    assert (again.code, "HTTP 404" in again.out) == (1, True)


def test_push_for_a_team_belongs_to_the_team(user: User, project: Path, accounts: Accounts) -> None:
    team = f"team-of-{user.slug}"
    team_id = accounts.add_team(team, user.slug)
    said = user.prime("env", "push", "--team", team, cwd=project).ok().out
    assert f"Successfully pushed {team}/word-play" in said
    other = write_project(user.prime.home / "other", "other-play")
    user.prime("env", "push", cwd=other, variables={"PRIME_TEAM_ID": team_id}).ok()
    assert user.hub.environments.get(EnvRef(team, "other-play")).semantic_version == "0.1.0"


@newer_releases
def test_push_for_another_user_is_refused(user: User, stranger: User, project: Path) -> None:
    refused = user.prime("env", "push", "--owner", stranger.slug, cwd=project)
    assert refused.code == 1
    assert "Failed to resolve environment" in refused.out
    with pytest.raises(NotFound):
        stranger.hub.environments.get(EnvRef(stranger.slug, "word-play"))


@newer_releases
def test_pushing_with_another_visibility_changes_it(user: User, project: Path) -> None:
    ref = EnvRef(user.slug, "word-play")
    user.prime("env", "push", "--visibility", "PRIVATE", cwd=project).ok()
    assert user.hub.environments.get(ref).visibility == "PRIVATE"
    user.prime("env", "push", "--auto-bump", cwd=project).ok()
    assert user.hub.environments.get(ref).visibility == "PRIVATE"
    user.prime("env", "push", "--auto-bump", "--visibility", "PUBLIC", cwd=project).ok()
    assert user.hub.environments.get(ref).visibility == "PUBLIC"


@newer_releases
def test_candidates_and_post_releases_are_versions_too(user: User, project: Path) -> None:
    user.prime("env", "push", "--rc", cwd=project).ok()
    user.prime("env", "push", cwd=write_project(user.prime.home / "0", "word-play", "0.1.0")).ok()
    post = write_project(user.prime.home / "post", "word-play", "0.1.0")
    user.prime("env", "push", "--post", cwd=post).ok()
    versions = user.hub.environments.versions(EnvRef(user.slug, "word-play"))
    assert [each.version for each in versions] == ["0.1.0.post0", "0.1.0", "0.1.0.rc0"]


def test_push_without_a_key_is_refused(user: User, project: Path) -> None:
    refused = user.prime("env", "push", cwd=project, variables=WITHOUT_KEY)
    assert refused.code == 1
    assert "Successfully" not in refused.out
