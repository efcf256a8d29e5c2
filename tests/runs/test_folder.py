import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import Conflict, UsageError
from prime_cli.runs.folder import (
    Journal,
    RunFolder,
    is_being_written,
    new_run_folder,
    read_journal,
    run_group_name,
    runs_folder,
    writing,
)
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.vf_eval_writer import ordered_rows
from tests.runs.rows import row


def test_runs_are_where_vf_eval_puts_them(tmp_path: Path) -> None:
    parent = runs_folder("my-env", "org/model", tmp_path)
    assert parent == tmp_path / "outputs/evals/my-env--org--model"


@pytest.mark.parametrize(
    "model", ["/home/me/tiny", "./tiny", "~/models/tiny/", "../tiny", "C:\\models\\tiny"]
)
def test_a_model_that_is_a_folder_is_called_by_its_name(model: str) -> None:
    assert run_group_name("sort-names", model) == "sort-names--tiny"


def test_a_folder_without_a_name_of_its_own_is_called_model() -> None:
    assert run_group_name("sort-names", "..") == "sort-names--model"


def test_runs_of_a_project_in_environments_are_in_it(tmp_path: Path) -> None:
    (tmp_path / "environments" / "my_env").mkdir(parents=True)
    parent = runs_folder("my-env", "m", tmp_path)
    assert parent == tmp_path / "environments/my_env/outputs/evals/my-env--m"


def test_a_second_writer_is_refused_with_the_number_of_the_first(tmp_path: Path) -> None:
    folder = new_run_folder(tmp_path)
    refused = pytest.raises(Conflict, match=r"being written .* \(process \d+\)")
    with writing(folder), refused, writing(RunFolder(folder.path)):
        pass
    with writing(folder):
        assert is_being_written(folder)


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    folder = new_run_folder(tmp_path)
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from prime_cli.runs.folder import RunFolder, writing\n"
        "with writing(RunFolder(Path(sys.argv[1]))):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder.path)], check=False)
    assert folder.lock.read_text(encoding="ascii").isdecimal()
    assert not is_being_written(folder)
    with writing(folder):
        pass


def test_models_with_colons_have_a_folder_on_windows_too() -> None:
    assert run_group_name("my-env", "org/qwen3:8b", windows=True) == "my-env--org--qwen3-8b"
    assert run_group_name("my-env", "org/qwen3:8b", windows=False) == "my-env--org--qwen3:8b"
    for windows in (True, False):
        name = run_group_name("my-env", "builtin/replay:a1b2c3d4", windows=windows)
        assert name == "my-env--builtin--replay-a1b2c3d4"


PLAIN = Scrubber({})


def written(path: Path, *rows: Row) -> Path:
    with Journal(path, PLAIN) as journal:
        for each in rows:
            journal.append(each)
    return path


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        row(0, metrics={"f": 0.5}, prompt=[{"role": "user", "content": "ü\n"}], info={"a": [1]}),
        row(1, 2, None, attempt=3, stop_condition="x", is_truncated=True),
    ]
    assert list(read_journal(written(tmp_path / "j", *rows))) == rows


def test_each_line_is_on_disk_before_the_next_rollout(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", PLAIN) as journal:
        journal.append(row(0))
        assert len(list(read_journal(tmp_path / "j"))) == 1


@given(st.integers(0, 400))
def test_a_torn_last_line_costs_that_line_alone(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = written(Path(folder) / "j", row(0), row(1))
        content = journal.read_bytes()
        kept = content[: max(0, len(content) - cut)]
        journal.write_bytes(kept)
        assert len(list(read_journal(journal))) == kept.count(b"\n")
        written(journal, row(7))
        assert [each.example_id for each in read_journal(journal)][-1] == 7


def test_the_last_attempt_of_each_rollout_counts(tmp_path: Path) -> None:
    path = written(
        tmp_path / "j", row(1), row(0, reward=None), row(0, 1), row(0, reward=0.5, attempt=2)
    )
    found = [(each.example_id, each.rollout, each.reward) for each in ordered_rows(path)]
    assert found == [(0, 0, 0.5), (0, 1, 1.0), (1, 0, 1.0)]


def test_a_journal_of_a_newer_prime_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_text('{"schema": 99, "example_id": 0, "rollout": 0}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="newer prime"):
        list(read_journal(path))


def test_fields_of_a_later_minor_version_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_text('{"schema": 1, "example_id": 3, "rollout": 0, "new": 1}\n', encoding="utf-8")
    assert next(read_journal(path)).example_id == 3


def test_secrets_do_not_reach_the_journal(tmp_path: Path) -> None:
    secret = 'sk-"quoted"\n-key'
    with Journal(tmp_path / "j", Scrubber({"OPENAI_API_KEY": secret})) as journal:
        journal.append(row(0, prompt=f"my key is {secret} and more"))
    assert next(read_journal(tmp_path / "j")).prompt == "my key is [OPENAI_API_KEY] and more"


WRITER = """
import os, signal, sys
from pathlib import Path
from prime_cli.runs.folder import Journal
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber
with Journal(Path(sys.argv[1]), Scrubber({})) as journal:
    for number in range(1000):
        journal.append(Row(example_id=number, rollout=0, reward=1.0, prompt="x" * 3000))
        print(number, flush=True)
"""


def test_a_killed_writer_leaves_every_row_it_had_finished(tmp_path: Path) -> None:
    path = tmp_path / "j"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) == 40:
                break
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.stdout.read().split()
    finished = max([40, *map(int, rest)]) + 1
    assert len(list(read_journal(path))) >= finished
