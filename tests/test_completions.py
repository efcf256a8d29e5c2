"""The scripts in completions/ are those of the commands as they are."""

from pathlib import Path

import pytest

from prime_cli.commands.tree import scripts
from prime_cli.completion import FILES, SHELLS, script
from tests.helpers.cli import Prime

FOLDER = Path(__file__).parent.parent / "completions"


def test_the_scripts_are_fresh() -> None:
    stale = [
        name
        for name, text in scripts().items()
        if (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `python -m prime_cli.commands.tree`"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed_as_it_lies_in_its_file(shell: str, prime: Prime) -> None:
    text = (FOLDER / FILES[shell]).read_text(encoding="utf-8")
    assert script(shell) == text
    assert prime("completion", shell).ok().out == text
