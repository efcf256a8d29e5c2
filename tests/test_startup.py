"""What answers at once loads nothing that takes long; milliseconds are benchmarks/startup's."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.rows import row
from tests.runs.saving import save_run

EXTRAS = {"huggingface_hub", "numpy", "pyarrow", "scipy", "textual"}
"""What the extras for evaluations bring: only the commands that ask for one may load it."""
HEAVY = EXTRAS | {
    "aiohttp", "alembic", "asyncio", "build", "hatchling", "httpx", "keyring", "msgspec",
    "pydantic", "rich", "sqlalchemy", "starlette", "verifiers",
}  # fmt: skip
NEVER_FOR_READING = EXTRAS | {
    "alembic", "build", "cryptography", "granian", "hatchling", "keyring", "obstore", "psutil",
    "psycopg", "pydantic", "rich", "sigstore", "tomlkit", "uvicorn", "verifiers",
}  # fmt: skip
"""What a command that only shows something does without, where it has no terminal."""
BUDGETS = {
    "--help": 45,
    "login --help": 45,
    "config get owner": 260,
    "config show": 260,
    "context list": 260,
    "cache list": 260,
    "eval list": 410,
    # The hub is in this process: its framework and its database are part of the command.
    "whoami": 696,
    "env list": 696,
    "env versions starter/alphabet-sort": 696,
    "env info starter/alphabet-sort": 736,
}
"""How many modules a command may import, Python's own among them, before something is wrong."""

BEFORE_TYPER = {"typer", "typing", "collections", "contextlib", "json", "re"}

PROBE = """
import atexit, sys

before = set(sys.modules)

def tell():
    import json
    loaded = {name.partition(".")[0] for name in before_json if name not in before}
    print(json.dumps(sorted(loaded)), file=sys.stderr)

def freeze():
    global before_json
    before_json = set(sys.modules)

atexit.register(tell)
atexit.register(freeze)  # runs first
from prime_cli.main import run
run()
"""


@pytest.mark.sample(6, "words")
@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "--help",
        "env --help",
        "env install --help",
        "env upload --help",
        "eval --help",
        "eval run --help",
        "eval compare --help",
        "eval export --help",
        "eval power --help",
        "eval view --help",
        "config show --help",
        "login --help",
        "context --help",
        "switch --help",
        "doctor --help",
        "completion bash",
        "completion --help",
    ],
)
def test_help_version_and_completion_load_nothing_heavy(words: str) -> None:
    assert _loaded(words) & HEAVY == set()


@pytest.mark.parametrize("words", ["--version", "completion zsh"])
def test_version_and_completion_are_answered_before_typer(words: str) -> None:
    assert _loaded(words) & BEFORE_TYPER == set()


def test_settings_are_shown_without_the_hub() -> None:
    assert _loaded("config show") & (HEAVY - {"msgspec"}) == set()


@pytest.mark.parametrize("words", ["eval list", "eval show"])
def test_runs_are_listed_and_shown_without_any_extra(words: str, tmp_path: Path) -> None:
    save_run(tmp_path, *[row(example, reward=example / 4) for example in range(4)])
    assert _loaded(words, cwd=tmp_path) & EXTRAS == set()


@pytest.mark.sample(6, "words")
@pytest.mark.parametrize(("words", "budget"), BUDGETS.items())
def test_a_common_command_keeps_to_its_budget_of_imports(
    words: str, budget: int, tmp_path: Path
) -> None:
    if budget > BUDGETS["eval list"]:  # the first command makes the hub, which loads more
        _imported("env list", cwd=tmp_path)
    modules = _imported(words, cwd=tmp_path)
    assert {name.partition(".")[0] for name in modules} & NEVER_FOR_READING == set()
    # Newer releases of Python have more modules, of which each does less.
    newer = 20 if sys.version_info >= (3, 12) else 0
    assert len(modules) <= budget + newer, "`python -X importtime` tells what is new"


def _imported(words: str, *, cwd: Path) -> list[str]:
    """Every module that a `prime` of its own imported, as `python -X importtime` names them."""
    code = "from prime_cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *words.split()],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return [line.rpartition("|")[2].strip() for line in lines[1:]]


def _loaded(words: str, *, cwd: Path | None = None) -> set[str]:
    """The top-level packages that a `prime` of its own had loaded when it ended."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words.split()],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))
