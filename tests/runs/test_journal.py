import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.runs.journal import Journal, read_journal
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runs.vf_eval_writer import ordered_rows
from tests.runs.rows import row

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
from prime_cli.runs.journal import Journal
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
