"""What goes wrong in a training, and what its user gets; by an engine without weights."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict, EngineFailed, StorageFailed, UsageError
from prime_cli.evals.execution.early_stop import SignalRouter
from prime_cli.runs.folder import RunFolder, is_being_written, read_journal
from prime_cli.runs.manifest import FAILED, FINISHED, INTERRUPTED, load_manifest
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.record import last_checkpoint
from tests.helpers.environments import small_interpreter
from tests.helpers.planted_keys import KEYS, files_with_keys, names_in, plant
from tests.helpers.processes import is_running
from tests.helpers.training import ALTERNATES, SCRIPTED, TRAINED, train_scripted
from tests.helpers.venvs import make_venv


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("talker"), TRAINED)


def _only(folder: Path) -> RunFolder:
    (path,) = (each for each in folder.iterdir() if (each / "run.json").is_file())
    return RunFolder(path)


# --- Memory ---


@pytest.mark.parametrize(
    ("last_words", "code", "whose"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n", 1, "of the GPU"),
        ("MemoryError\n", 1, "memory is full"),
        ("Killed\n", 137, "this machine's memory"),
    ],
)
def test_an_engine_out_of_memory_ends_with_whose_it_was_and_what_needs_less(
    talker: Interpreter, tmp_path: Path, last_words: str, code: int, whose: str
) -> None:
    behaviour = {"crash_at": 4, "last_words": last_words, "code": code}
    with pytest.raises(EngineFailed) as failed:
        train_scripted(talker, tmp_path, behaviour=behaviour)
    assert failed.value.exit_code == 9
    assert whose in (failed.value.hint or "")
    assert "`--batch`" in (failed.value.hint or "")
    assert "checkpoints/2" in (failed.value.hint or "")
    assert last_words.strip() in (failed.value.detail or "")


# --- Processes ---

DIES_ONCE = TRAINED.replace(
    "    def same(completion, answer, **kwargs):\n",
    """    def same(completion, answer, **kwargs):
        import os, pathlib
        died = pathlib.Path(__file__ + ".died")
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), 9)
""",
)


def test_a_worker_that_is_killed_costs_a_training_nothing(tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, DIES_ONCE)
    trained = train_scripted(interpreter, tmp_path)
    rows = list(read_journal(trained.folder / "journal.jsonl"))
    assert len(rows) == len({(row.example_id, row.rollout) for row in rows}) == 6 * 8
    assert {row.error for row in rows} == {None}
    assert max(row.attempt for row in rows) == 2
    assert any("restarting it" in warned for warned in trained.progress.warned)


PROGRAM = """
import sys
from pathlib import Path
from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.training import train_scripted

python, folder = Path(sys.argv[1]), Path(sys.argv[2])
interpreter = Interpreter(python, "0" * 64, "0.1.14", "v0", "test", "tiny_env", "3")
train_scripted(interpreter, folder, behaviour={"hang_at": 4})
"""


def test_a_killed_prime_leaves_no_process_and_a_training_that_goes_on(
    talker: Interpreter, tmp_path: Path
) -> None:
    argv = [sys.executable, "-c", PROGRAM, str(talker.python), str(tmp_path)]
    with subprocess.Popen(argv) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*/checkpoints/2")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        started = _descendants(process.pid)
        assert len(started) >= 3  # the engine, its guard, and the worker
        process.kill()
    while any(map(is_running, started)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    folder = _only(tmp_path)
    assert not is_being_written(folder)
    train_scripted(talker, tmp_path, resumed=folder)
    manifest = load_manifest(folder.manifest)
    assert (manifest.status, len(manifest.sessions)) == (FINISHED, 2)
    lines = (folder.path / "metrics.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 5, 6]


def _descendants(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    own = [int(child) for task in tasks for child in task.read_text().split()]
    return own + [deeper for child in own for deeper in _descendants(child)]


# --- Ctrl-C ---


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_a_signal_ends_a_training_after_its_step_with_a_checkpoint(
    tmp_path: Path,
) -> None:
    # It never runs out of groups with two rewards.
    interpreter, folder = small_interpreter(tmp_path, ALTERNATES), tmp_path / "outputs"
    router = SignalRouter()

    def interrupt() -> None:
        while not list(folder.glob("*/metrics.jsonl")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt, daemon=True)
    with router.listening():
        interrupting.start()
        trained = train_scripted(interpreter, folder, router=router, steps=9999, save_every=9999)
        interrupting.join()
    assert trained.result.signal == signal.SIGINT  # exit code 130
    assert not trained.result.is_finished
    assert load_manifest(trained.folder / "run.json").status == INTERRUPTED
    checkpoint = last_checkpoint(trained.result.folder)
    assert checkpoint is not None
    assert checkpoint[0] == trained.result.facts.step


# --- What a resumed training finds changed ---

ELSEWHERE = TRAINED.replace(
    "    rows = ",
    """    import pathlib
    size += pathlib.Path(__file__ + ".more").exists()
    rows = """,
)


def test_a_training_does_not_go_on_with_other_data(tmp_path: Path) -> None:
    interpreter = small_interpreter(tmp_path, ELSEWHERE)
    folder = tmp_path / "outputs"
    train_scripted(interpreter, folder, max_hours=1e-9)
    (module,) = (tmp_path / "venv").rglob("tiny_env.py")
    Path(f"{module}.more").touch()
    with pytest.raises(Conflict, match=r"have changed .*: they are 25 instead of 24") as refused:
        train_scripted(interpreter, folder, resumed=_only(folder))
    assert refused.value.exit_code == 7
    assert len((_only(folder).path / "metrics.jsonl").read_bytes().splitlines()) == 1


def test_an_engine_of_another_version_is_named_when_a_training_goes_on(
    talker: Interpreter, tmp_path: Path
) -> None:
    engine, folder = tmp_path / "engine", tmp_path / "outputs"
    shutil.copytree(SCRIPTED, engine)
    described = (engine / "engine.toml").read_text(encoding="utf-8")
    described = described.replace("requires = []", 'requires = ["a-trainer>=1"]')
    (engine / "engine.toml").write_text(described, encoding="utf-8")
    python = make_venv(tmp_path / "venv") / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")

    def install(version: str) -> None:
        facts = site / "a_trainer.dist-info"
        facts.mkdir(exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: a-trainer\nVersion: {version}\n"
        (facts / "METADATA").write_text(text, encoding="utf-8")

    install("1.0")
    begun = train_scripted(talker, folder, engine=engine, python=python, max_hours=1e-9)
    assert begun.result.facts.packages == {"a-trainer": "1.0"}
    assert begun.progress.warned == []
    install("1.1")
    resumed = train_scripted(
        talker, folder, engine=engine, python=python, resumed=begun.result.folder
    )
    assert resumed.result.facts.packages == {"a-trainer": "1.1"}
    said = "The engine has changed since this training began: a-trainer 1.0 -> 1.1"
    assert resumed.progress.warned == [said]


def test_an_environment_without_training_data_is_refused_with_the_way_out(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no data for the split `train`") as refused:
        train_scripted(talker, tmp_path, split="train")
    assert (refused.value.exit_code, refused.value.hint) == (2, "use the other one: `--split eval`")


# --- The policy ---


def test_a_policy_without_token_ids_ends_a_training_and_says_what_to_serve(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="returns no token ids") as failed:
        train_scripted(talker, tmp_path, behaviour={"no_ids": True})
    assert "vLLM" in (failed.value.hint or "")
    assert load_manifest(_only(tmp_path).manifest).status == FAILED


def test_a_policy_that_never_answers_ends_a_training(talker: Interpreter, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="No rollout and no step"):
        train_scripted(talker, tmp_path, behaviour={"silent": True}, stall=1)


# --- The disk ---


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_a_full_disk_ends_a_training_with_the_exit_code_for_it(
    talker: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(StorageFailed, match="The disk is full") as failed:
        train_scripted(talker, tmp_path, behaviour={"fill_the_disk_at": 4})
    assert failed.value.exit_code == 74
    again = f"free some space, then `prime train --resume {_only(tmp_path).run_id}`"
    assert (failed.value.hint or "").startswith(again)


# --- Keys ---

TELLS = TRAINED.replace(
    "def load_environment(size: int = 24):\n",
    """def load_environment(size: int = 24):
    import json, os, pathlib
    pathlib.Path(__file__ + ".environ").write_text(json.dumps(dict(os.environ)))
""",
)


@pytest.mark.parametrize(("report", "of_engine"), [(None, set()), ("wandb", {"WANDB_API_KEY"})])
def test_keys_are_only_where_they_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str | None, of_engine: set[str]
) -> None:
    plant(monkeypatch)
    interpreter = small_interpreter(tmp_path, TELLS)
    behaviour = {"tell_environment": True}
    trained = train_scripted(interpreter, tmp_path, behaviour=behaviour, report=report)
    (told,) = (tmp_path / "venv").rglob("*.environ")
    of_worker = told.read_text()
    assert names_in(of_worker) == set()
    assert "PRIME_ROLLOUTS_TOKEN" not in of_worker
    log = (trained.folder / "engine.log").read_text()
    environ = json.loads(next(line for line in log.splitlines() if line.startswith("{")))
    assert {name for name in KEYS if name in environ} == {"HF_TOKEN"} | of_engine
    assert environ["HF_TOKEN"] == environ["PRIME_ROLLOUTS_TOKEN"] == "[secret]"
    assert files_with_keys([trained.folder]) == []
