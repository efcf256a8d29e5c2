"""Keys that are planted where users have them are found nowhere else, whatever is run."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.commands.walk.children import Child, recorded_children
from tests.commands.walk.entries import ENTRIES
from tests.commands.walk.entry import Entry
from tests.commands.walk.walking import SLOW, Walker
from tests.commands.walk.world import SECRET, World
from tests.helpers.cli import Result

KEYS = {
    "PRIME_API_KEY": "pit_planted_in_the_environment",
    "OPENAI_API_KEY": "sk-planted-in-the-environment",
    "HF_TOKEN": "hf_planted_in_the_environment",
    "LAB_SECRET": "secret-planted-in-the-environment",
    "PRIME_HUB_SECRET_KEY": "5eed0f9a11b7c2d4e6f8091a2b3c4d5e",
}
FOR_INSTALLERS = {"UV_INDEX_LAB_PASSWORD": "index-password-planted"}
"""It is for uv and pip, which log in with it, and for nothing else."""
KEPT = Path("home", "credentials.toml")
"""Where the key of a context is kept."""


def _walks() -> Iterator[Any]:
    for entries in ENTRIES.values():
        for entry in entries:
            marks = SLOW if entry.slow else []
            for words in filter(None, (entry.words, entry.wrong)):
                yield pytest.param(entry, words, id=f"{words} ({entry.hub})", marks=marks)


WALKS = list(_walks())


@pytest.mark.sample(25, "words")
@pytest.mark.parametrize(("entry", "words"), [each for each in WALKS if not each.marks])
def test_no_key_is_left_anywhere(
    entry: Entry, words: str, world: World, walk: Walker, tmp_path: Path
) -> None:
    _leaves_no_key(entry, words, world, walk, tmp_path)


@pytest.mark.sample(5, "words")
@pytest.mark.parametrize(("entry", "words"), [each for each in WALKS if each.marks])
def test_no_key_is_left_anywhere_by_what_makes_interpreters(
    entry: Entry, words: str, world: World, walk: Walker, tmp_path: Path
) -> None:
    _leaves_no_key(entry, words, world, walk, tmp_path)


def _leaves_no_key(entry: Entry, words: str, world: World, walk: Walker, tmp_path: Path) -> None:
    own = world if entry.slow else world.copy(tmp_path / "world")
    loud = replace(walk, variables=KEYS | FOR_INSTALLERS | {"PRIME_DEBUG": "1"})
    with recorded_children() as children:
        result = loud(own, entry, words)
    planted = [*KEYS.values(), *FOR_INSTALLERS.values(), own.key, SECRET]
    assert list(_leaks(planted, result, children, own)) == []


def test_a_key_that_leaks_would_be_found(quick_world: World, tmp_path: Path) -> None:
    own = quick_world.copy(tmp_path / "world")
    password = FOR_INSTALLERS["UV_INDEX_LAB_PASSWORD"]
    (own.here / "notes.txt").write_bytes(b"x" * 70_000 + own.key.encode())
    with recorded_children() as children:
        argv = [sys.executable, "-c", "pass", own.key]
        subprocess.run(argv, env={"UV_INDEX_LAB_PASSWORD": password}, check=True)
    python = Path(sys.executable).name
    leaks = _leaks([own.key, password], Result(0, "", own.key), children, own)
    assert {where for where, _ in leaks} == {
        "stderr",
        "notes.txt",
        f"{python}'s words",
        f"{python}'s variables",
    }


def _leaks(
    planted: list[str], result: Result, children: list[Child], world: World
) -> Iterator[tuple[str, str]]:
    """Where which key was found."""
    for key in planted:
        if key in result.out:
            yield "stdout", key
        if key in result.err:
            yield "stderr", key
        for child in children:
            name = Path(child.words[0]).name
            if any(key in word for word in child.words):
                yield f"{name}'s words", key
            if any(key in value for value in child.variables.values()) and not _may(child, key):
                yield f"{name}'s variables", key
    for path in world.root.rglob("*"):
        if path.is_file() and not path.is_symlink() and path != world.root / KEPT:
            content = path.read_bytes()
            yield from ((path.name, key) for key in planted if key.encode() in content)


def _may(child: Child, key: str) -> bool:
    installs = Path(child.words[0]).stem == "uv" or child.words[1:3] == ("-m", "pip")
    return installs and key in FOR_INSTALLERS.values()
