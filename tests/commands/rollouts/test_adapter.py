import ast
from pathlib import Path

import pytest

from prime_cli.commands.rollouts.adapter import ADAPTERS
from tests.helpers.cli import Prime


@pytest.mark.parametrize("trainer", ADAPTERS)
def test_an_adapter_is_copied_with_all_that_it_imports(
    prime: Prime, trainer: str, tmp_path: Path
) -> None:
    done = prime("rollouts", "adapter", trainer, str(tmp_path))
    assert done.code == 0
    folder = tmp_path / "prime_adapters"
    for path in folder.iterdir():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert (folder / f"{node.module}.py").is_file()
            elif isinstance(node, ast.ImportFrom):
                assert "prime_cli" not in (node.module or "")


def test_a_file_that_was_changed_is_overwritten_only_with_force(
    prime: Prime, tmp_path: Path
) -> None:
    words = ("rollouts", "adapter", "verl", str(tmp_path))
    assert prime(*words).code == 0
    assert prime(*words).code == 0
    changed = tmp_path / "prime_adapters" / "verl.py"
    changed.write_text("# mine\n", encoding="utf-8")
    refused = prime(*words)
    assert (refused.code, changed.read_text(encoding="utf-8")) == (7, "# mine\n")
    assert prime(*words, "--force").code == 0
    assert "AgentLoopBase" in changed.read_text(encoding="utf-8")
