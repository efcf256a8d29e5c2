"""The agent, compiled by the Python that runs it."""

import asyncio
from pathlib import Path

import pytest

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.hub.sandboxes.bubblewrap.pythons import compiled


def test_a_python_that_is_gone_or_fails_is_an_error_of_the_environment(tmp_path: Path) -> None:
    source, failing = tmp_path / "a.py", tmp_path / "python"
    source.write_text("1\n", encoding="utf-8")
    failing.write_text("#!/bin/sh\necho broken >&2; exit 1\n", encoding="utf-8")
    failing.chmod(0o755)
    for python, why in ((tmp_path / "none", "No such file"), (failing, "broken")):
        with pytest.raises(EnvironmentFailed, match=f"cannot compile .*: .*{why}"):
            asyncio.run(compiled(source, python))
