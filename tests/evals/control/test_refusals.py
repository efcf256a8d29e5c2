"""What somebody is told whom a run does not obey: one sentence, and what to do next."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import Conflict, NotFound, PrimeError, UsageError
from prime_cli.evals.control.client import RunControl, control_of
from prime_cli.evals.control.server import control_socket
from prime_cli.evals.suites.record import CellRecord, SuiteFolder, SuiteRecord, save_record
from prime_cli.runs.folder import read_journal
from prime_cli.runs.listing import list_runs
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.saved_run import open_run
from prime_cli.runtime.interpreters import Interpreter
from tests.evals.control.conftest import EIGHT, SlowModel, is_loaded, process, reins, started, until
from tests.helpers.cli import COMMAND, Prime
from tests.helpers.environments import ECHO, small_interpreter
from tests.helpers.live_run import run_live
from tests.helpers.scripted_model import ScriptedModel

pytestmark = pytest.mark.network  # the shared venv may have to be made

NOBODY = 65534


def _is_open(*paths: str) -> bool:
    """Whether every user of this machine may read there."""
    return all(up.stat().st_mode & 1 for path in paths for up in Path(path).parents)


@contextmanager
def refused(kind: type[PrimeError], sentence: str, hint: str) -> Iterator[None]:
    with pytest.raises(kind, match=sentence) as caught:
        yield
    assert hint in str(caught.value.hint)


def test_a_rollout_that_was_to_be_run_again_is_by_the_resume_after_a_kill(
    model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    interpreter = small_interpreter(tmp_path, ECHO)
    slow.fails = True
    with process(tmp_path, model.url, concurrency=1, fail_fast=False) as run:
        control = reins(tmp_path)
        until(lambda: control.status().errors == 1)
        control.cancel(3, 1)
        control.retry(0, 0)
        control.retry(3, 1)
        control.cancel(3, 0)
        run.kill()
        run.wait()
        folder = open_run(Path(control.folder)).folder
        with refused(Conflict, "does not run: it is stopped", f"--resume {folder.run_id}"):
            control.pause()
    plan = {**EIGHT, "fail_fast": False}
    again = run_live(tmp_path, interpreter, model.url, resumed=folder, **plan)
    assert (again.summary.counts.scored, again.summary.counts.cancelled) == (7, 1)
    rows = {(row.example_id, row.rollout): row for row in read_journal(folder.journal)}
    assert [rows[pair].attempt for pair in ((0, 0), (3, 1))] == [2, 2]
    told = [each.words for each in load_manifest(folder.manifest).changes]
    assert told == ["cancel 3:1", "retry 0:0", "retry 3:1", "cancel 3:0"]


def test_the_socket_of_a_killed_run_is_taken_over_by_its_resume(
    model: ScriptedModel, slow: SlowModel, tmp_path: Path
) -> None:
    interpreter = small_interpreter(tmp_path, ECHO)
    with process(tmp_path, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        until(lambda: slow.asked)
        run.kill()
        run.wait()
    folder = open_run(Path(control.folder)).folder
    assert control_socket(folder.path).is_socket()
    with refused(NotFound, "No evaluation or training is running here", "prime eval list"):
        control_of(None, tmp_path)
    with started(tmp_path, interpreter, model.url, resumed=folder) as resumed:
        assert reins(tmp_path).set(concurrency=8).concurrency == 8
        assert resumed.result(60).summary.counts.scored == 8
    assert not control_socket(folder.path).exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="becomes another user")
@pytest.mark.skipif(not _is_open(sys.prefix, __file__), reason="others cannot read this code")
def test_the_run_of_another_user_obeys_them_alone(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        me = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        ask = [*me, *COMMAND, "eval", "ctl", "pause", str(control.folder), "--output", "json"]
        home = tmp_path / "theirs"
        home.mkdir(mode=0o777)
        home.chmod(0o777)
        for each in (*Path(control.folder).parents, Path(control.folder)):
            if Path(tempfile.gettempdir()) in each.parents:
                each.chmod(0o755)
        environ = {**os.environ, "HOME": str(home), "PRIME_HOME": str(home / ".prime")}
        environ["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(ask, env=environ, cwd="/", capture_output=True, check=False)
        assert done.returncode == 4, done.stderr.decode()
        error = json.loads(done.stderr)["error"]
        assert "is that of another user (0)" in error["message"]
        assert "ask them" in error["hint"]
        assert control.status().state == "running"
        assert run.result(60).summary.changes == ()


def test_a_run_on_another_machine_is_to_be_asked_there(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path, prime: Prime
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1) as run:
        path = Path(reins(tmp_path).folder)
        # What a shared folder shows of a run elsewhere: its files, and no lock.
        seen = tmp_path / "elsewhere" / path.name
        seen.mkdir(parents=True)
        text = (path / "run.json").read_text("utf-8")
        host = load_manifest(path / "run.json").sessions[-1].host
        (seen / "run.json").write_text(text.replace(f'"{host}"', '"node7"'), encoding="utf-8")
        (seen / "journal.jsonl").write_bytes((path / "journal.jsonl").read_bytes())
        told = prime("eval", "ctl", "drain", str(seen), cwd=tmp_path)
        assert told.code == 7
        assert f"Run {path.name} is running on node7, and this is {host}" in told.err
        assert f"ssh node7 prime eval ctl status {seen}" in " ".join(told.err.split())
        assert run.result(60).summary.counts.scored == 8


def test_a_suite_is_controlled_by_its_id_as_long_as_one_of_it_runs(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path, prime: Prime
) -> None:
    def ask(*words: str) -> Any:
        return prime("eval", "ctl", *words, "--output", "json", cwd=tmp_path)

    def running() -> list[RunControl]:
        controls = [control_of(item.run_id, tmp_path) for item in list_runs(tmp_path)]
        return [each for each in controls if is_loaded(each)]

    with started(tmp_path, echo, model.url, concurrency=1) as first:
        (one,) = until(running)
        one.pause()
        with started(tmp_path, echo, model.url, concurrency=1) as second:
            both = until(lambda: found if len(found := running()) == 2 else None)
            (two,) = (each for each in both if each.run_id != one.run_id)
            cells = [CellRecord(each.run_id, "found", path=each.folder) for each in (one, two)]
            suite = SuiteFolder(tmp_path / "outputs" / "suites" / "nightly" / "5a17e000")
            suite.path.mkdir(parents=True)
            record = SuiteRecord(
                suite_id=suite.suite_id,
                name="nightly",
                file="nightly.toml",
                digest="",
                started="2026-11-29T00:00:00+00:00",
                cells=(*cells, CellRecord("waits")),
            )
            save_record(suite, record)
            states = ask("pause", "5a17").ok().json
            assert [each["state"] for each in states] == ["paused", "paused"]
            refusal = ask("cancel", "3:0", "5a17")
            assert refusal.code == 2
            assert f"is running {one.run_id} and {two.run_id}" in refusal.err
            two.drain()
            second.result(60)
        assert ask("status", "5a17").ok().json["run_id"] == one.run_id
        assert ask("cancel", "3:0", "5a17").ok().json["cancelled"] == 1
        ask("resume", "5a17").ok()
        first.result(60)
    ended = ask("status", "5a17e000")
    assert ended.code == 7
    assert "prime eval run nightly.toml --resume 5a17e000" in ended.err
    assert ask("status", "5a17e000f").code == 6


def test_what_cannot_be_set_or_is_not_there_is_refused_with_what_to_do_instead(
    echo: Interpreter, model: ScriptedModel, tmp_path: Path
) -> None:
    with started(tmp_path, echo, model.url, concurrency=1) as run:
        control = reins(tmp_path)
        with refused(UsageError, "at least 1", "prime eval ctl pause"):
            control.set(concurrency=0)
        with refused(UsageError, "Nothing to set", "`-c` or `--max-cost`"):
            control.set()
        with refused(UsageError, "price", ""):
            control.set(max_cost=1.0)
        with refused(NotFound, "no example 9", "prime eval show"):
            control.cancel(9)
        with refused(NotFound, "Example 3 has 2 rollouts", "name 0 to 1"):
            control.cancel(3, 2)
        with refused(Conflict, "Only what was cancelled", "--errors"):
            control.retry(3, 1)
        control.drain()
        with refused(Conflict, "is draining", "resume it"):
            control.pause()
        with refused(Conflict, "starts no rollout", "prime eval run"):
            control.retry(3, 1)
        assert run.result(60).summary.changes[-1].action == "drain"
    with refused(Conflict, "it is interrupted", f"--resume {control.run_id}"):
        RunControl(open_run(Path(control.folder))).resume()
