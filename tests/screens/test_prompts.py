"""Every question, asked and answered at a real terminal."""

from pathlib import Path

import pytest

from tests.helpers.cli import Prime
from tests.helpers.terminal import Terminal
from tests.helpers.wild import write_project

pytestmark = pytest.mark.usefixtures("needs_terminal")


def publish(prime: Prime, folder: Path) -> None:
    write_project(folder)
    prime("env", "upload", "tiny-env", "--no-check", cwd=folder).ok()


@pytest.mark.parametrize(("key", "code", "left"), [("y", 0, 0), ("n", 130, 1), ("", 130, 1)])
def test_an_environment_is_deleted_after_a_yes_alone(
    key: str, code: int, left: int, prime: Prime, tmp_path: Path
) -> None:
    publish(prime, tmp_path)
    with Terminal("env", "delete", "ada/tiny-env") as terminal:
        terminal.wait_for("Delete ada/tiny-env")
        terminal.type(f"{key}\n")
        assert terminal.end() == code
    assert prime("env", "list", "--mine", "--output", "json").ok().json["total"] == left


def test_ctrl_c_at_a_question_is_no_answer(prime: Prime, tmp_path: Path) -> None:
    publish(prime, tmp_path)
    with Terminal("env", "delete", "ada/tiny-env") as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("\x03")
        assert terminal.end() == 130
        assert "Traceback" not in terminal.text
    assert prime("env", "list", "--mine", "--output", "json").ok().json["total"] == 1
