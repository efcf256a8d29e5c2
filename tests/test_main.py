"""Every way to end has its exit code and its sentence."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prime_cli import main
from prime_cli.core.errors import NotFound, PrimeError, error_classes
from prime_cli.failures import as_failure
from tests.helpers.cli import COMMAND, Prime, prime_process


def test_a_bare_group_shows_its_help_and_ends_with_usage(prime: Prime) -> None:
    result = prime("config")
    assert result.code == 2
    assert result.out == ""
    assert "Show every setting and its source." in result.err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["confg"], "error: `prime` has no command `confg`"),
        (["config", "show", "--ouptut"], "error: `prime config show` has no option `--ouptut`"),
        (["config", "show", "--output"], "error: `--output` needs a value"),
        (["config", "show", "x"], "error: Unexpected argument `x`"),
        (["context", "use"], "error: `prime context use` needs CONTEXT"),
        (["env", "list", "-n", "0"], "error: `--num`: 0 is not between 1 and 100"),
        (["env", "list", "-n", "x"], "error: `--num`: `x` is not a whole number"),
        (["pods", "create", "--max-price", "x"], "error: `--max-price`: `x` is not a number"),
        (["pods", "create", "--max-price", "-1"], "error: `--max-price`: -1.0 is less than 0"),
        (["completion", "install", "tcsh"], "error: `shell`: `tcsh` is not one of `bash`"),
    ],
)
def test_usage_errors_are_reported_in_our_words(
    prime: Prime, argv: list[str], sentence: str
) -> None:
    result = prime(*argv)
    assert result.code == 2
    assert result.err.startswith(sentence)
    assert "hint: " in result.err


@pytest.mark.parametrize("terminal", [True, False])
def test_the_version_warns_on_a_terminal_of_the_official_client_in_the_same_environment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
) -> None:
    (tmp_path / "prime-0.18.0.dist-info").mkdir()
    monkeypatch.setattr(main, "__file__", str(tmp_path / "prime_cli" / "main.py"))
    monkeypatch.setattr(main, "_is_terminal", lambda: terminal)
    monkeypatch.setattr(sys, "argv", ["prime", "--version"])
    main.run()
    shown = capsys.readouterr()
    assert shown.out.startswith("prime ")
    assert ("run `prime doctor`" in shown.err) == terminal


def test_a_misspelt_command_is_seen_through_the_short_form(prime: Prime) -> None:
    assert "hint: did you mean `prime eval run`?" in prime("eval", "rnu", "my-env").err


def test_the_beginning_of_a_word_means_that_word_more_than_one_that_looks_alike(
    prime: Prime,
) -> None:
    assert "hint: did you mean `prime availability`?" in prime("avail").err
    assert "hint: did you mean `--gpu-type`?" in prime("pods", "create", "--gpu", "h100").err


def test_an_option_without_its_value_names_the_help_of_its_command(prime: Prime) -> None:
    assert "hint: see `prime pods create --help`" in prime("pods", "create", "--for").err
    assert "hint: see `prime gc --help`" in prime("gc", "--output").err


def test_the_nearest_of_the_words_that_an_option_takes_is_named(prime: Prime) -> None:
    assert "hint: did you mean `updated_at`?" in prime("env", "list", "--sort", "updatd_at").err
    assert "hint: did you mean `json`?" in prime("env", "list", "-o", "jsn").err
    assert "hint: did you mean `bash`?" in prime("completion", "install", "bsh").err
    assert "hint: see `prime env list --help`" in prime("env", "list", "-o", "xml").err
    assert "hint: see `prime eval run --help`" in prime("eval", "my-env", "another").err


def test_a_failure_before_parsing_is_json_too_when_json_was_requested(prime: Prime) -> None:
    for argv in (["--output", "json"], ["--output=jsonl"]):
        result = prime("config", "show", *argv, "--nope")
        assert result.code == 2
        assert json.loads(result.err)["error"]["code"] == "usage"


def test_a_bug_is_one_sentence_with_the_traceback_in_a_file(home: Path) -> None:
    failure = as_failure(KeyError("x"))
    assert (failure.exit_code, failure.message) == (70, "This is a bug in prime: KeyError: 'x'")
    [report] = (home / ".prime" / "bugs").iterdir()
    assert failure.hint == f"please report it with the traceback in {report}"
    assert "KeyError: 'x'" in report.read_text(encoding="utf-8")


def test_a_bug_is_reported_even_where_nothing_can_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_HOME", str(home / "file" / "below"))
    (home / "file").write_text("", encoding="utf-8")
    hint = as_failure(KeyError("x")).hint
    assert hint == "run the same command with PRIME_DEBUG=1 for a traceback"


def test_with_prime_debug_the_traceback_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_DEBUG", "1")
    assert "KeyError: 'x'" in (as_failure(KeyError("x")).detail or "")
    assert "NotFound: no" in (as_failure(NotFound("no")).detail or "")


def test_a_failure_reveals_no_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "pit_planted")
    monkeypatch.setenv("HF_TOKEN", "hf_planted_in_tests")
    words = (
        "pit_planted hf_planted_in_tests kept_planted Bearer any_planted http://ada:planted@hub/"
    )
    error = KeyError(words)
    told = as_failure(error, ["kept_planted"])
    [report] = (home / ".prime" / "bugs").iterdir()
    monkeypatch.setenv("PRIME_DEBUG", "1")
    debug = as_failure(error, ["kept_planted"])
    mine = as_failure(NotFound(words, hint=words), ["kept_planted"])
    texts = [told.message, report.read_text("utf-8"), debug.detail, mine.message, mine.hint]
    assert [text for text in texts if text is None or "planted" in text] == []


def test_a_full_disk_anywhere_is_a_storage_failure() -> None:
    failure = as_failure(OSError(errno.ENOSPC, "No space left on device", "/x/y"))
    assert (failure.exit_code, failure.message) == (74, "The disk is full: /x/y was not written")


@pytest.mark.parametrize("cls", error_classes().values())
def test_every_error_ends_with_its_own_code(cls: type[PrimeError]) -> None:
    error = cls("it failed")
    assert as_failure(error) is error


def test_a_reader_that_leaves_early_is_not_a_failure() -> None:
    for argv in ("config show", "--help", "completion bash", "--version"):
        words = " ".join([f"'{word}'" for word in COMMAND]) + f" {argv}"
        done = subprocess.run(
            ["bash", "-c", f"{words} | true; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_closed_stdout_is_not_a_failure() -> None:
    words = " ".join([f"'{word}'" for word in COMMAND])
    for argv in ("config show", "--version"):
        done = subprocess.run(
            ["bash", "-c", f"{words} {argv} >&-"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("typed", ["config show", "--help"])
def test_a_full_disk_behind_stdout_is_reported(typed: str) -> None:
    words = " ".join([f"'{word}'" for word in COMMAND])
    done = subprocess.run(
        ["bash", "-c", f"{words} {typed} >/dev/full"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 74
    assert done.stderr.startswith("error: The output could not be written")


def test_a_console_that_is_not_utf_8_gets_help_and_data() -> None:
    for argv in (["--help"], ["config", "show"], ["completion", "--help"]):
        result = prime_process(*argv, env={"PYTHONIOENCODING": "ascii", "PRIME_OFFLINE": "1"})
        assert result.ok().out.isascii()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_unwinds_and_ends_with_its_code(sent: signal.Signals, code: int) -> None:
    # A background job of a shell without job control is started with SIGINT ignored.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "import sys, time; import prime_cli.commands.config as command;"
        "from prime_cli.core import config;"
        "config.getpass.getuser = lambda: (print('up', flush=True), time.sleep(30));"
        "from prime_cli.main import run; sys.argv = ['prime', 'config', 'show']; run()"
    )
    env = {name: value for name, value in os.environ.items() if name != "PRIME_OWNER"}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(sent)
    _, told = process.communicate(timeout=120)
    assert (process.returncode, told) == (code, b"")


@pytest.mark.parametrize("words", ["config show", "config show --nonsense"])
def test_the_interpreter_ends_without_a_search_for_garbage(words: str) -> None:
    program = (
        "import atexit, gc, sys;"
        "atexit.register(lambda: print('left:', gc.get_freeze_count(), len(gc.get_objects())));"
        "from prime_cli.main import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words.split()],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    _, frozen, tracked = done.stdout.splitlines()[-1].split()
    assert int(frozen) > 10_000 > int(tracked)
