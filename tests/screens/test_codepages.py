"""Consoles of Windows that are not UTF-8: tables and bars are drawn in characters they have.

`PYTHONIOENCODING` gives a process the streams that it would have there.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.helpers.terminal import Terminal
from tests.helpers.wild import write_project
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("needs_terminal"),
    pytest.mark.parametrize("codepage", ["cp437", "cp1252"]),
]

TABLES = [
    "env list",
    "env versions starter/alphabet-sort",
    "env info starter/alphabet-sort",
    "eval list",
    "eval show",
    "config show",
    "cache list",
    "doctor --offline",
]


def console(codepage: str, words: str, cwd: Path) -> Terminal:
    """A terminal that shows what is ASCII, and U+FFFD for any other byte of the code page."""
    env = {"PYTHONIOENCODING": codepage, "PYTHONUTF8": "0"}
    return Terminal(*words.split(), cwd=cwd, env=env)


@pytest.mark.sample(3, "words")
@pytest.mark.parametrize("words", TABLES)
def test_tables_are_drawn_in_ascii(words: str, codepage: str, tmp_path: Path) -> None:
    save_run(tmp_path, *[row(example, reward=example / 4) for example in range(4)])
    usual = (0, 1) if words.startswith("doctor") else (0,)  # what it finds is this machine's
    with console(codepage, words, tmp_path) as shown:
        assert shown.end() in usual, shown.text
    assert all(screen.isascii() for screen in shown.seen), shown.text


def test_bars_are_drawn_in_ascii(codepage: str, tmp_path: Path) -> None:
    write_project(tmp_path)
    with console(codepage, "env build tiny-env --no-check", tmp_path) as shown:
        shown.wait_for("Building tiny-env")
        assert shown.end() == 0, shown.text
    assert all(screen.isascii() for screen in shown.seen)


def test_what_a_code_page_lacks_is_reported_in_marks_that_keep_the_columns(
    codepage: str, tmp_path: Path
) -> None:
    plan = replace(PLAN, model="caf\u00e9 \u6f22\u5b57 \u2026 \u2713")
    save_run(tmp_path, row(0, reward=1.0), plan=plan)
    save_run(tmp_path, row(0, reward=1.0))
    with console(codepage, "eval list", tmp_path) as shown:
        assert shown.end() == 0, shown.text
    lines = [line for line in shown.text.splitlines() if "|" in line]
    assert any("caf\ufffd ?? ... ok |" in line for line in lines)
    bars = [[at for at, letter in enumerate(line) if letter == "|"] for line in lines]
    assert all(each == bars[0] for each in bars), shown.text
