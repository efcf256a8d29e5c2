"""A run that goes on in a real interpreter, and what is asked of it meanwhile."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import PrimeError
from prime_cli.evals.control.client import RunControl, control_of
from prime_cli.evals.execution.run import EvalResult
from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

USED = {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15}
EIGHT: dict[str, Any] = {
    "env_args": {"size": 4},
    "num_examples": 4,
    "rollouts_per_example": 2,
    "max_retries": 0,
}


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("echo"), ECHO)


class SlowModel:
    """Answers each call after a while."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False

    def __call__(self, request: Received) -> Reply:
        self.asked += 1
        if self.fails:
            self.fails = False
            return status(400)
        return Reply(request.last_user, usage=USED, latency=0.5)


@pytest.fixture
def slow() -> SlowModel:
    return SlowModel()


@pytest.fixture
def model(slow: SlowModel) -> Iterator[ScriptedModel]:
    with ScriptedModel(slow) as scripted:
        yield scripted


def until(holds: Callable[[], Any], seconds: float = 15.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)
    return found


def is_loaded(control: RunControl) -> bool:
    """Whether the run listens, and knows how many rollouts it has."""
    try:
        return control.status().total is not None
    except PrimeError:
        return False


def reins(folder: Path) -> RunControl:
    """Those of the run that has just been started below `folder`, once it listens."""

    def listens() -> RunControl | None:
        with suppress(PrimeError):
            control = control_of(None, folder)
            return control if is_loaded(control) else None
        return None

    found = until(listens)
    assert isinstance(found, RunControl)
    return found


@contextmanager
def started(folder: Path, *args: Any, **plan: Any) -> Iterator[Future[EvalResult]]:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(run_live, folder, *args, **{**EIGHT, **plan})
        try:
            yield run
        except BaseException:
            # A paused run would keep the test from its end.
            with suppress(PrimeError):
                control_of(None, folder).drain()
            raise


@contextmanager
def process(folder: Path, url: str, **plan: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """A run in a process of its own, which can be killed."""
    words = [str(folder), url, json.dumps({**EIGHT, **plan})]
    run = subprocess.Popen([sys.executable, "-m", "tests.helpers.live_run", *words])
    try:
        yield run
    finally:
        run.kill()
        run.wait()
