"""Keys of Ada, who has a home of her own."""

from pathlib import Path

import pytest

from tests.helpers.ssh_keys import line


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """The public half of a key."""
    return write(tmp_path / "laptop.pub", 1, "ada@laptop")


def write(file: Path, number: int, comment: str = "") -> Path:
    """A file with a public key."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{line(number, comment)}\n", encoding="utf-8")
    return file
