"""Looking at one environment without fetching it."""

import pytest

from tests.official.users import User, newer_releases, releases_since

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]


def test_info_shows_how_to_install(user: User) -> None:
    ref = user.publish()
    said = user.prime("env", "info", ref.slug).ok().out
    assert "A tiny environment" in said
    assert f"prime env install {ref.slug}@latest" in said
    assert f"/{user.slug}/" in said.split("--extra-index-url")[1].split()[0]
    pinned = user.prime("env", "info", ref.slug, "--version", "0.1.0").ok().out
    assert "tiny_env==0.1.0" in pinned or "tiny-env==0.1.0" in pinned


def test_info_of_a_private_environment_says_to_pull(user: User) -> None:
    ref = user.publish(visibility="PRIVATE")
    assert f"prime env pull {ref.slug}@latest" in user.prime("env", "info", ref.slug).ok().out


@pytest.mark.parametrize("command", ["info", "pull", "install"])
def test_private_environment_is_not_found_by_others(
    command: str, user: User, stranger: User
) -> None:
    ref = user.publish(visibility="PRIVATE")
    hidden = stranger.prime("env", command, ref.slug)
    assert hidden.code == 1
    assert "404" in hidden.out
    missing = stranger.prime("env", command, f"{user.slug}/missing-1")
    assert missing.out.replace("missing-1", ref.name) == hidden.out


@newer_releases
def test_status_shows_the_newest_version(user: User) -> None:
    ref = user.publish()
    status = user.read("env", "status", ref.slug)
    assert (status["name"], status["visibility"]) == ("tiny-env", "PUBLIC")
    assert status["latest_version"]["semantic_version"] == "0.1.0"
    assert "Version: 0.1.0" in user.prime("env", "status", ref.slug).ok().out


@releases_since("0.6")
def test_inspect_shows_folders_and_files(user: User) -> None:
    files = {"tiny_env/__init__.py": "def load_environment(): ...\n", "tiny_env/data.txt": "a" * 50}
    ref = user.publish(files=files)
    root = user.read("env", "inspect", ref.slug)
    assert [(entry["path"], entry["is_directory"]) for entry in root["entries"]] == [
        ("tiny_env", True),
        ("README.md", False),
        ("pyproject.toml", False),
    ]
    inner = user.read("env", "inspect", ref.slug, "tiny_env")
    assert [entry["name"] for entry in inner["entries"]] == ["__init__.py", "data.txt"]
    assert "tiny_env/data.txt" in user.prime("env", "inspect", ref.slug, "tiny_env").ok().out
    file = user.read("env", "inspect", f"{ref.slug}@0.1.0", "tiny_env/__init__.py")
    assert (file["kind"], file["content"]) == ("file", files["tiny_env/__init__.py"])
    part = user.read("env", "inspect", ref.slug, "tiny_env/data.txt", "--max-bytes", "10")
    assert (part["content"], part["truncated"], part["total_bytes"]) == ("a" * 10, True, 50)
    assert user.prime("env", "inspect", ref.slug, "nowhere.py").code == 1
