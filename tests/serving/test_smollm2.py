"""`builtin/smollm2` as a newcomer meets it: an empty home, no key and no account."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, prime_process
from tests.serving.test_real_engine import call, folder_of_torch
from tests.serving.test_serve import lines_until

pytestmark = [pytest.mark.slow, pytest.mark.network]

NAMES = "starter/sort-names", "-m", "builtin/smollm2", "-t", "24"


def test_a_real_model_is_evaluated_served_and_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_FIND_LINKS", folder_of_torch())
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    evaluated = ("eval", "run", *NAMES, "-n", "4", "-r", "2", "--output", "json")
    run = prime_process(*evaluated, cwd=tmp_path, timeout=1800).ok()
    assert "SmolLM2-135M-Instruct by Hugging Face (Apache-2.0)" in run.err
    assert run.json["model"] == "builtin/smollm2"
    assert (run.json["counts"]["scored"], run.json["counts"]["errored"]) == (8, 0)
    assert 0 < run.json["reward"]["mean"] < 0.5

    argv = [*COMMAND, "serve", "builtin/smollm2", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=os.environ, stdout=pipe, text=True, encoding="utf-8") as server:
        assert server.stdout is not None
        entry = lines_until(server.stdout, "key =")
        (model,) = re.findall(r'model = "(\S+)"', entry)
        (url,) = re.findall(r'url = "(\S+)"', entry)
        question = {"role": "user", "content": "What is the capital of France?"}
        said = call(url, {"model": model, "messages": [question], "max_tokens": 20})
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 130
    assert "Paris" in said

    trained = ("train", *NAMES, "--steps", "1", "--batch", "2", "-r", "2", "--eval-examples", "2")
    result = prime_process(*trained, "--yes", "--output", "json", cwd=tmp_path, timeout=1800).ok()
    assert result.json["facts"]["step"] == 1
