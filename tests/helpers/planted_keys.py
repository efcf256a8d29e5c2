"""Keys in the parent's environment, and where they are found after a training."""

import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

JUDGE_KEY = "JUDGE_KEY"
KEYS = {
    "PRIME_API_KEY": "pit_hub_5f2c9a7e31d84b60",
    "OPENAI_API_KEY": "sk-openai-0d4e8b12f7a963c5",
    JUDGE_KEY: "sk-judge-91b7f3d2c6a845e0",
    "WANDB_API_KEY": "0a1b2c3d4e5f60718293a4b5c6d70a1b2c3d4e5f",
    "HF_TOKEN": "hf_QwErTyUiOpAsDfGhJkLzXcVbNmQwErTy",
}


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set all of KEYS, as they are in the shell of a user who has them."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def telling(python: Path, told: Path) -> Path:
    """An interpreter beside the file `told`, to which it adds the environment that it starts in."""
    script = told.with_suffix(".python")
    file, program = shlex.quote(str(told)), shlex.quote(str(python))
    script.write_text(f'#!/bin/sh\nenv >> {file}\nexec {program} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def names_in(text: str) -> set[str]:
    """The keys whose values are in `text`."""
    return {name for name, value in KEYS.items() if value in text}


def files_with_keys(folders: Iterable[Path]) -> list[tuple[Path, str]]:
    """Every file below `folders` that has the value of a key, with the key's name."""
    files = (each for folder in folders for each in folder.rglob("*") if each.is_file())
    return [
        (path, name)
        for path in files
        for name, value in KEYS.items()
        if value.encode() in path.read_bytes()
    ]
