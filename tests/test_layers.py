"""Imports point downwards; who may import what is in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINT = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
)


def test_every_import_contract_is_kept() -> None:
    # In a process of its own: import-linter's logging disables all loggers that there are.
    done = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=ROOT,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
