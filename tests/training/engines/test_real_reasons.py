"""What users are told of a model that cannot be loaded, of full memory and of a full disk."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's"),
]
LESS = "`--batch`"


def test_each_failure_has_its_sentence_and_code(tmp_path: Path, trl: dict[str, Any]) -> None:
    program = Path(__file__).parent / "programs" / "ask_for_reasons.py"
    done = subprocess.run(
        [trl["python"], program, tmp_path],
        env={**os.environ, "PYTHONPATH": str(trl["engine"])},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("whole") == []
    for name in ("empty", "config", "architecture", "no weights", "cut weights"):
        code, message, hint = found.pop(name)
        assert (code, message.partition(":")[0]) == ("not_found", "The model cannot be loaded")
        assert "save_pretrained" in hint
    code, message, hint = found.pop("tokenizer")
    assert (code, message) == ("not_found", f"{tmp_path / 'tokenizer'} has no tokenizer")
    code, message, hint = found.pop("template")
    assert code == "usage"
    assert "has no chat template" in message
    for name, whose in (("host", "this machine"), ("python", "this machine"), ("gpu", "the GPU")):
        code, message, hint = found.pop(name)
        assert (code, message) == ("engine_failed", f"The memory of {whose} is full")
        assert LESS in hint
    # The most of any environment; four where one has no limit.
    assert found.pop("turns") == [10, 3, 4]
    # Of a longer row fewer fit, and none is longer than the context.
    assert found.pop("rows") == [8, 2, 1, 64]
    # A row of 99 turns would need 1.5 times what the machine has; it is said, and ends nothing.
    small, large = found.pop("forecast")
    assert small is None
    assert "An update on a rollout of" in large
    assert "`-t`" in large
    code, message, hint = found.pop("driver")
    assert code == "engine_failed"
    assert "nvidia-smi lists NVIDIA H100, 81559 MiB, but torch cannot use it" in message
    assert "driver" in hint
    assert (found.pop("hidden"), found.pop("none")) == ([], [])
    code, message, hint = found.pop("disk")
    assert code == "storage_failed"
    assert "cannot write its weights" in message
    assert "`prime train --resume`" in hint
    assert found == {}
