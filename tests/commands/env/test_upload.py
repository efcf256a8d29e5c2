from pathlib import Path

import pytest

from prime_cli.core.paths import prime_home
from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import Prime
from tests.helpers.wild import WILD, write_project


@pytest.fixture(autouse=True)
def no_starters() -> None:
    """Publishing the starters is tested elsewhere and would double the time."""
    mark_published(prime_home() / "hub")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "environments" / "tiny_env")


def test_a_project_is_published_and_reported(prime: Prime, project: Path) -> None:
    result = prime("env", "upload", "--no-check", cwd=project).ok()
    assert result.out == ""
    assert "Published ada/tiny-env@0.1.0 (public)" in result.err
    assert "prime env install ada/tiny-env" in result.err
    again = prime("env", "push", "tiny-env", "--no-check", cwd=project.parent.parent).ok()
    assert "already published, with the same content" in again.err


def test_the_record_says_all_that_a_script_needs(prime: Prime, project: Path) -> None:
    words = ("env", "upload", str(project), "--no-check", "--output", "json")
    record = prime(*words, "--visibility", "private").ok().json
    assert record["environment"] == "ada/tiny-env"
    assert (record["version"], record["visibility"]) == ("0.1.0", "PRIVATE")
    assert (record["already"], record["locked"], record["url"]) == (False, False, None)
    assert len(record["content_hash"]) == len(record["wheel_sha256"]) == 64
    again = prime(*words).ok().json
    assert again == {**record, "already": True}


def test_an_upload_that_makes_something_public_says_so(prime: Prime, project: Path) -> None:
    words = ("env", "upload", str(project), "--no-check", "--visibility")
    assert "is now public" not in prime(*words, "private").ok().err
    assert "ada/tiny-env is now public" in prime(*words, "public").ok().err
    assert "is now public" not in prime(*words, "public").ok().err


def test_a_dry_run_lists_the_files_and_touches_nothing(prime: Prime, project: Path) -> None:
    before = sorted(path.name for path in project.iterdir())
    result = prime("env", "upload", str(project), "--dry-run", "--output", "json").ok()
    assert [file["path"] for file in result.json["files"]] == [
        "README.md",
        "pyproject.toml",
        "tiny_env.py",
    ]
    assert result.json["total_size"] == sum(file["size"] for file in result.json["files"])
    assert sorted(path.name for path in project.iterdir()) == before
    uploaded = prime("env", "upload", str(project), "--no-check", "--output", "json").ok()
    assert uploaded.json["content_hash"] == result.json["content_hash"]


def test_a_dry_run_of_a_bump_names_the_next_version_only(prime: Prime, project: Path) -> None:
    before = (project / "pyproject.toml").read_bytes()
    words = ("env", "upload", str(project), "--dry-run", "--rc", "--output", "json")
    result = prime(*words).ok()
    assert (result.json["version"], result.json["content_hash"]) == ("0.1.0rc0", None)
    assert (project / "pyproject.toml").read_bytes() == before


def test_other_content_under_the_same_version_exits_7(prime: Prime, project: Path) -> None:
    prime("env", "upload", str(project), "--no-check").ok()
    (project / "README.md").write_text("Other words\n")
    refused = prime("env", "upload", str(project), "--no-check")
    assert refused.code == 7
    assert "--auto-bump" in refused.err
    bumped = prime("env", "upload", str(project), "--no-check", "--auto-bump").ok()
    assert "Published ada/tiny-env@0.1.1" in bumped.err


def test_two_ways_to_bump_are_one_too_many(prime: Prime, project: Path) -> None:
    result = prime("env", "upload", str(project), "--rc", "--post")
    assert result.code == 2
    assert "Use only one of" in result.err


def test_a_secret_exits_8_until_it_is_allowed(prime: Prime, project: Path) -> None:
    (project / "keys").mkdir()
    (project / "keys" / "id_rsa").write_text("x")
    refused = prime("env", "upload", str(project), "--no-check")
    assert refused.code == 8
    assert "keys/id_rsa:1: key file" in refused.err
    allowed = ("--allow-secrets", "keys/*")
    prime("env", "upload", str(project), "--no-check", *allowed).ok()


def test_a_built_wheel_is_published_with_its_project(prime: Prime, project: Path) -> None:
    prime("env", "build", str(project), "--no-check").ok()
    (wheel,) = (project / "dist").glob("*.whl")
    named = f"dist/{wheel.name}"
    result = prime("env", "upload", named, "--no-check", cwd=project).ok()
    assert "Published ada/tiny-env@0.1.0" in result.err


def test_a_missing_wheel_exits_6(prime: Prime, tmp_path: Path) -> None:
    result = prime("env", "upload", "dist/none-1-py3-none-any.whl", cwd=tmp_path)
    assert result.code == 6
    assert "prime env build" in result.err


def test_a_starter_cannot_be_overwritten(prime: Prime, project: Path) -> None:
    assert prime("env", "upload", str(project), "--no-check", "--owner", "starter").code == 4


@pytest.mark.parametrize("shape", ["capitals", "folder-differs", "src", "v1", "dynamic-version"])
def test_shapes_of_the_wild_are_published(shape: str, prime: Prime, tmp_path: Path) -> None:
    folder = write_project(tmp_path / shape, WILD[shape])
    prime("env", "upload", str(folder), "--no-check").ok()
    listed = prime("env", "list", "--mine", "--output", "json").ok().json
    assert [row["environment"] for row in listed["environments"]] == [f"ada/{WILD[shape].name}"]


@pytest.mark.slow
def test_an_upload_with_its_check_leaves_a_lock_on_the_hub(prime: Prime, project: Path) -> None:
    record = prime("env", "upload", str(project), "--output", "json").ok().json
    assert record["locked"] is True


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--published-as-of", "2099-01-01"), "is in the future"),
        (("--published-as-of", "2025-09-01", "--no-check"), "needs the import"),
    ],
)
def test_a_publication_date_that_cannot_hold_is_refused(
    prime: Prime, project: Path, words: tuple[str, ...], told: str
) -> None:
    result = prime("env", "upload", str(project), *words)

    assert result.code == 2
    assert told in result.err
