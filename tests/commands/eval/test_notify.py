"""`--notify`: once for each run that began, however it ends, and whatever the command does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import Result, prime_process
from tests.helpers.wild import Shape, write_project

pytestmark = pytest.mark.slow

SUITE = """
num_examples = 1
rollouts_per_example = 1
[[eval]]
env_id = "tiny-env"
model = "builtin/oracle"
"""
TELL = 'cat > told.json; echo "$PRIME_RUN_STATUS" >> told'


@pytest.mark.usefixtures("one_home")
def test_each_run_that_began_is_told_of_once(tmp_path: Path) -> None:
    def run(*words: str, tell: str = TELL) -> Result:
        return prime_process("eval", "run", *words, "--notify", tell, cwd=tmp_path)

    def told() -> Any:
        return json.loads((tmp_path / "told.json").read_text("utf-8"))

    write_project(tmp_path, Shape(dependencies=("verifiers>=0.1.14,<0.2",)))
    own = ("tiny-env", "-m", "builtin/oracle", "-n", "2", "-r", "1", "--new")
    assert run(*own, "--max-error-rate", "7").code == 2
    assert not (tmp_path / "told").exists()
    run(*own).ok()
    assert told()["counts"]["scored"] == 2
    assert run(*own, "-c", "1", "--token-budget", "1").code == 3
    assert told()["status"] == "capped"
    assert run(*own, "-a", '{"num_examples": "many"}').code == 9
    assert told()["status"] == "failed"
    (tmp_path / "nightly.toml").write_text(SUITE, encoding="utf-8")
    suite = run("nightly.toml", tell=TELL + "; exit 9").ok()
    assert "The command of `--notify` ended with exit code 9" in suite.err
    assert [line["scored"] for line in told()["standings"]] == [1]
    statuses = (tmp_path / "told").read_text("utf-8").split()
    assert statuses == ["finished", "capped", "failed", "finished"]
