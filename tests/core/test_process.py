"""Programs are run to their end, or ended."""

import os
import sys
import time
from pathlib import Path

import pytest

from prime_cli.core.process import TimedOut, run


def test_output_error_stream_and_code_are_kept_apart() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    completed = run([sys.executable, "-c", code])

    assert (completed.code, completed.out, completed.err) == (3, "out\n", "err\n")
    assert not completed.ok


def test_words_are_not_read_by_a_shell() -> None:
    completed = run([sys.executable, "-c", "import sys; print(sys.argv[1])", "$HOME; ls"])

    assert completed.out == "$HOME; ls\n"


def test_input_arrives_and_without_input_stdin_is_empty() -> None:
    code = "import sys; print(repr(sys.stdin.read()))"

    assert run([sys.executable, "-c", code], input="hé").out == "'hé'\n"
    assert run([sys.executable, "-c", code]).out == "''\n"


def test_bytes_that_are_no_utf8_do_not_fail() -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff ok')"

    assert run([sys.executable, "-c", code]).out == "\ufffd ok"


def test_a_given_environment_replaces_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "1")
    code = "import os; print('SECRET_OF_OURS' in os.environ, os.environ['GIVEN'])"

    assert run([sys.executable, "-c", code], env={"GIVEN": "yes"}).out == "False yes\n"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_program_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "child"
    # A shell starts within milliseconds, also where the machine is busy.
    script = f"sleep 600 & echo $! > '{pid_file}'; echo started; wait"

    with pytest.raises(TimedOut) as raised:
        run(["sh", "-c", script], timeout=3)

    assert raised.value.partial.out == "started\n"
    assert _has_ended(int(pid_file.read_text()))


def test_a_program_that_is_not_there_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run([tmp_path / "nothing"])


def test_the_error_stream_is_what_counts_in_the_last_lines() -> None:
    code = "import sys; print('out'); print('a\\nb\\nc', file=sys.stderr)"

    assert run([sys.executable, "-c", code]).last_lines(2) == "b\nc"


def _has_ended(pid: int) -> bool:
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text(encoding="utf-8").split(")")[1].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False
