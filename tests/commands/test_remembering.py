"""Names become known to the Tab key as a by-product of what commands do anyway."""

from pathlib import Path

from tests.helpers.cli import Prime
from tests.helpers.completion import completed_names


def test_what_was_listed_published_and_deleted_is_what_is_completed(
    prime: Prime, tmp_path: Path
) -> None:
    assert completed_names("environments") == []
    prime("env", "list").ok()
    assert "starter/alphabet-sort" in completed_names("environments")
    prime("env", "init", "my-env", cwd=tmp_path).ok()
    prime("env", "upload", "my-env", "--no-check", "--offline", cwd=tmp_path).ok()
    assert completed_names("environments")[0] == "ada/my-env"
    prime("env", "info", "starter/calculator").ok()
    assert completed_names("environments")[0] == "starter/calculator"
    prime("env", "delete", "ada/my-env@0.1.0", "--yes").ok()
    assert "ada/my-env" in completed_names("environments")
    prime("env", "upload", "my-env", "--no-check", "--offline", cwd=tmp_path).ok()
    prime("env", "delete", "ada/my-env", "--yes").ok()
    assert "ada/my-env" not in completed_names("environments")


def test_what_is_not_there_is_not_completed(prime: Prime) -> None:
    assert prime("env", "info", "ada/nothing").code != 0
    assert "ada/nothing" not in completed_names("environments")
