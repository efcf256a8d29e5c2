"""A question is asked at a terminal and nowhere else."""

import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from prime_cli.core.errors import Declined, UsageError
from prime_cli.terminal.output import Output
from tests.terminal.test_output import Terminal


def _at_terminal(typed: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Output, Terminal]:
    err = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    return Output(out=Terminal(), err=err), err


@pytest.mark.parametrize("typed", ["y\n", "YES\n", " yes \n"])
def test_a_yes_goes_ahead(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output, err = _at_terminal(typed, monkeypatch)
    output.confirm("Delete ada/wordle?", otherwise="Nothing was deleted")
    assert err.getvalue() == "Delete ada/wordle? [y/N] "


@pytest.mark.parametrize("typed", ["n\n", "\n", "yea\n", "y y\n", "\u00ff\n"])
def test_any_other_answer_is_a_no(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output, err = _at_terminal(typed, monkeypatch)
    with pytest.raises(Declined, match=r"^Nothing was deleted$") as declined:
        output.confirm("Delete ada/wordle?", otherwise="Nothing was deleted")
    assert declined.value.exit_code == 130
    output.fail(declined.value)
    assert err.getvalue() == "Delete ada/wordle? [y/N] Nothing was deleted\n"


@pytest.mark.parametrize("typed", ["", "y"])
def test_what_is_not_ended_by_enter_answers_nothing(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, err = _at_terminal(typed, monkeypatch)
    with pytest.raises(Declined, match="No answer"):
        output.ask("Resume it?", flag="--resume")
    assert err.getvalue().endswith("[y/N] \n")
    output, err = _at_terminal(typed, monkeypatch)
    with pytest.raises(Declined, match="No answer"):
        output.choose("Which?", ["ada/x", "bob/x"])
    assert err.getvalue().endswith("[1-2] \n")


def test_a_declined_command_is_reported_in_json_too(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    Output("json", out=Terminal(), err=err).fail(Declined("Nothing was deleted"))
    assert json.loads(err.getvalue())["error"]["code"] == "declined"


def test_a_long_question_is_broken_at_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    output, err = _at_terminal("y\n", monkeypatch)
    output.ask("Forget `a-long-name-of-it` and its key?", flag="--yes")
    assert err.getvalue() == "Forget\n  `a-long-name-of-it`\n  and its key? [y/N] "


def test_a_thread_other_than_the_main_one_does_not_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    output, _ = _at_terminal("y\n", monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(lambda: output.is_interactive).result(10)
    assert output.is_interactive


def test_without_a_terminal_the_flag_is_named() -> None:
    output = Output(out=io.StringIO(), err=io.StringIO())
    with pytest.raises(UsageError) as caught:
        output.confirm("Delete ada/wordle?", otherwise="Nothing was deleted")
    assert caught.value.hint == "add `--yes` to confirm"


def test_yes_is_never_asked() -> None:
    err = io.StringIO()
    Output(out=io.StringIO(), err=err, yes=True).confirm("Sure?", otherwise="No")
    assert err.getvalue() == ""


def test_a_choice_is_made_by_number_or_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for typed in ("2\n", "bob/x\n"):
        output, err = _at_terminal(typed, monkeypatch)
        assert output.choose("Which?", ["ada/x", "bob/x"]) == "bob/x"
        assert err.getvalue() == "  1  ada/x\n  2  bob/x\nWhich? [1-2] "


@pytest.mark.parametrize("typed", ["3", "0", "-1", "\u0663", "2" * 5000, "漢字" * 400])
def test_a_wrong_choice_is_refused(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output, _ = _at_terminal(f"{typed}\n", monkeypatch)
    with pytest.raises(UsageError, match="` is not one of the choices") as refused:
        output.choose("Which?", ["ada/x", "bob/x"])
    assert typed[:40] in refused.value.message
    assert len(refused.value.message) < 80


def test_without_a_terminal_the_choices_are_listed() -> None:
    output = Output(out=io.StringIO(), err=io.StringIO())
    with pytest.raises(UsageError, match="Which\\? ada/x, bob/x"):
        output.choose("Which?", ["ada/x", "bob/x"], flag="--owner")


@pytest.mark.parametrize(("typed", "meant"), [("\n", "120"), (" 200 \n", "200")])
def test_a_line_that_is_left_empty_is_the_default(
    typed: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, err = _at_terminal(typed, monkeypatch)
    assert output.enter("Disk?", default="120", flag="--disk-size") == meant
    assert err.getvalue() == "Disk? [120] "


def test_without_a_prompt_the_flag_is_named() -> None:
    with pytest.raises(UsageError) as refused:
        Output(out=io.StringIO(), err=io.StringIO()).enter("Disk?", default="1", flag="--disk-size")
    assert "`--disk-size`" in (refused.value.hint or "")


_INTERRUPTED_ELSEWHERE = """
import signal, sys, threading, time
from prime_cli.terminal.prompts import ask_yes_no
from prime_cli.terminal.streams import Stream

def interrupt():
    time.sleep(1)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    time.sleep(60)

threading.Thread(target=interrupt, daemon=True).start()
try:
    ask_yes_no("Really?", Stream(sys.stderr), flag="--yes")
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pty")
def test_an_interrupt_that_does_not_wake_a_read_ends_a_question() -> None:
    from tests.helpers.terminal import Terminal as Pty

    # As Ctrl-C does that another thread gets, or that comes just before the read.
    program = [sys.executable, "-c", _INTERRUPTED_ELSEWHERE]
    with Pty(program=program, env={"CI": ""}) as terminal:
        terminal.wait_for("Really? [y/N]")
        assert terminal.process.wait(20) == 130


_ASKED_LATE = """
import sys, time
from prime_cli.terminal.prompts import ask_yes_no
from prime_cli.terminal.streams import Stream

print("busy", flush=True)
time.sleep(1)
answers = [ask_yes_no("Really?", Stream(sys.stderr), flag="--yes") for _ in range(2)]
print("answered", answers)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pty")
def test_what_is_typed_before_a_question_answers_it() -> None:
    from tests.helpers.terminal import Terminal as Pty

    program = [sys.executable, "-c", _ASKED_LATE]
    with Pty(program=program, env={"CI": ""}) as terminal:
        terminal.wait_for("busy")
        terminal.type("y\nno\n")
        terminal.wait_for("answered [True, False]")
