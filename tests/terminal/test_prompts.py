"""A question is asked at a terminal and nowhere else."""

import io

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.terminal.output import Output
from tests.terminal.test_output import Terminal


def _at_terminal(typed: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Output, Terminal]:
    err = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    return Output(out=Terminal(), err=err), err


@pytest.mark.parametrize(
    ("typed", "agreed"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_only_a_yes_is_a_yes(typed: str, agreed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    output, err = _at_terminal(typed, monkeypatch)
    assert output.confirm("Delete ada/wordle?", yes=False) is agreed
    assert err.getvalue() == "Delete ada/wordle? [y/N] "


def test_without_a_terminal_the_flag_is_named() -> None:
    output = Output(out=io.StringIO(), err=io.StringIO())
    with pytest.raises(UsageError) as caught:
        output.confirm("Delete ada/wordle?", yes=False)
    assert caught.value.hint == "add `--yes` to go ahead"


def test_yes_is_never_asked() -> None:
    assert Output(out=io.StringIO(), err=io.StringIO()).confirm("Sure?", yes=True)


def test_a_choice_is_made_by_number_or_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for typed in ("2\n", "bob/x\n"):
        output, err = _at_terminal(typed, monkeypatch)
        assert output.choose("Which?", ["ada/x", "bob/x"]) == "bob/x"
        assert err.getvalue() == "  1  ada/x\n  2  bob/x\nWhich? [1-2] "


def test_a_wrong_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    output, _ = _at_terminal("3\n", monkeypatch)
    with pytest.raises(UsageError, match="`3` is not one of the choices"):
        output.choose("Which?", ["ada/x", "bob/x"])


def test_without_a_terminal_the_choices_are_listed() -> None:
    output = Output(out=io.StringIO(), err=io.StringIO())
    with pytest.raises(UsageError, match="Which\\? ada/x, bob/x"):
        output.choose("Which?", ["ada/x", "bob/x"], flag="--owner")
