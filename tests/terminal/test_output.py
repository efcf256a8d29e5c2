"""What each verb writes, where, and in which mode."""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.terminal.output import Output
from prime_cli.terminal.progress import Lines

COLUMNS = ["Environment", "Description"]
ROWS = [["ada/wordle", "Guess a word,\nin six"], ["bob/漢字", "…"]]


@dataclass(frozen=True)
class Record:
    """A record as commands show them."""

    name: str
    path: Path
    reward: float


RECORDS = [Record("a", Path("x"), 0.5), Record("b", Path("y"), float("nan"))]


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Captured:
    """An Output with its two streams."""

    def __init__(self, mode: str | None = None, *, quiet: bool = False, tty: bool = False) -> None:
        make = Terminal if tty else io.StringIO
        self.out, self.err = make(), make()
        self.output = Output(mode, quiet=quiet, out=self.out, err=self.err)


def test_without_a_terminal_a_table_keeps_every_value_whole() -> None:
    shown = Captured()
    shown.output.table(COLUMNS, ROWS, records=[])
    assert shown.out.getvalue() == (
        "Environment  Description\nada/wordle   Guess a word, in six\nbob/漢字     …\n"
    )


def test_plain_is_tab_separated_without_a_header() -> None:
    shown = Captured("plain")
    shown.output.table(COLUMNS, ROWS, records=[])
    assert shown.out.getvalue() == "ada/wordle\tGuess a word, in six\nbob/漢字\t…\n"


def test_json_is_the_page_or_else_the_records() -> None:
    shown = Captured("json")
    shown.output.table(COLUMNS, ROWS, records=RECORDS)
    assert json.loads(shown.out.getvalue()) == [
        {"name": "a", "path": "x", "reward": 0.5},
        {"name": "b", "path": "y", "reward": None},
    ]
    paged = Captured("json")
    paged.output.table(COLUMNS, ROWS, records=RECORDS, page={"total": 2})
    assert json.loads(paged.out.getvalue()) == {"total": 2}


def test_jsonl_is_one_record_a_line() -> None:
    shown = Captured("jsonl")
    shown.output.table(COLUMNS, ROWS, records=RECORDS, page={"total": 2})
    lines = shown.out.getvalue().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["a", "b"]


def test_a_record_is_shown_by_its_labelled_lines() -> None:
    shown = Captured()
    shown.output.show({}, lines=[("name", "wordle"), ("install", "one\ntwo")])
    assert shown.out.getvalue() == "name     wordle\ninstall  one\n         two\n"


def test_only_data_goes_to_stdout() -> None:
    shown = Captured("json")
    shown.output.say("took ./wordle")
    shown.output.warn("no README", hint="write one")
    shown.output.hint("`prime env list`")
    shown.output.done("Published", value={"ref": "ada/wordle"})
    assert json.loads(shown.out.getvalue()) == {"ref": "ada/wordle"}
    assert shown.err.getvalue() == (
        "took ./wordle\nwarning: no README\nhint: write one\nhint: `prime env list`\nPublished\n"
    )


def test_quiet_keeps_data_warnings_and_errors() -> None:
    shown = Captured(quiet=True)
    shown.output.say("a")
    shown.output.done("b")
    shown.output.hint("c")
    shown.output.progress.say("d")
    shown.output.warn("kept")
    shown.output.fail(NotFound("also kept"))
    assert shown.err.getvalue() == "warning: kept\nerror: also kept\n"


def test_a_failure_has_its_sentence_its_detail_and_its_hint() -> None:
    shown = Captured()
    shown.output.fail(NotFound("No `x`", hint="`prime env list`", detail="one\n\ntwo\n"))
    assert shown.err.getvalue() == "error: No `x`\n  one\n\n  two\nhint: `prime env list`\n"


def test_in_json_modes_a_failure_is_one_line_of_json_on_stderr() -> None:
    shown = Captured("json")
    shown.output.fail(NotFound("No `x`", hint="look"))
    assert json.loads(shown.err.getvalue()) == {
        "error": {"code": "not_found", "message": "No `x`", "hint": "look", "detail": None}
    }
    assert shown.out.getvalue() == ""


def test_text_from_a_hub_cannot_move_the_cursor() -> None:
    shown = Captured(tty=True)
    shown.output.table(["Name"], [["\x1b[2Jevil\r"]], records=[])
    shown.output.fail(NotFound("\x1b[2J\x9bboo"))
    assert "\x1b[2J" not in shown.out.getvalue() + shown.err.getvalue()
    assert "\x9b" not in shown.err.getvalue()


@pytest.mark.parametrize("mode", ["table", "plain"])
def test_a_label_of_a_stranger_cannot_move_the_cursor_or_begin_a_line(mode: str) -> None:
    out = io.StringIO()
    Output(mode, out=out).show({}, lines=[("  name\x1b[2J\x9b\nof\ta metric", "1")])
    assert not {"\x1b", "\x9b"} & set(out.getvalue())
    assert out.getvalue().startswith("  name[2J of a metric")
    assert len(out.getvalue().splitlines()) == 1


def test_no_color_holds_on_a_terminal() -> None:
    shown = Captured(tty=True)
    shown.output.table(COLUMNS, ROWS, records=[])
    shown.output.fail(NotFound("x"))
    assert "\x1b" not in shown.out.getvalue() + shown.err.getvalue()


def test_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = Captured(tty=True)
    shown.output.fail(NotFound("x"))
    assert shown.err.getvalue() == "\x1b[31merror:\x1b[0m x\n"


@pytest.mark.parametrize(
    ("variables", "tty", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"CLICOLOR": "0"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"CI": "true"}, True, True),
    ],
)
def test_colour_is_as_users_are_used_to(
    variables: dict[str, str], tty: bool, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = Captured(tty=tty)
    shown.output.fail(NotFound("x"))
    assert ("\x1b" in shown.err.getvalue()) is colour


@pytest.mark.parametrize("mode", ["plain", "json", "jsonl"])
def test_no_data_for_scripts_is_ever_coloured(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = Captured(mode, tty=True)
    shown.output.table(COLUMNS, ROWS, records=[])
    shown.output.show(RECORDS[0])
    assert "\x1b" not in shown.out.getvalue()


def test_ci_has_no_prompts_and_no_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert Captured(tty=True).output.is_interactive
    monkeypatch.setenv("CI", "true")
    shown = Captured(tty=True)
    assert not shown.output.is_interactive
    assert isinstance(shown.output.progress, Lines)


def test_own_messages_wrap_at_words_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    shown = Captured(tty=True)
    log = "a line of another program, as it was"
    shown.output.fail(NotFound("There is no such thing", detail=log, hint="see `prime env list`"))
    assert shown.err.getvalue().splitlines() == [
        "error: There is no",
        "  such thing",
        f"  {log}",
        "hint: see",
        "  `prime env list`",
    ]


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_table_fits_the_terminal_and_cells_wrap(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = Captured(tty=True)
    shown.output.table(["N", "Text"], [["a", "abcdefghij" * 6]], records=[])
    lines = shown.out.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    assert sum(line.count("j") for line in lines) == 6


def test_columns_without_room_are_omitted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = Captured(tty=True)
    rows = [["starter/alphabet-sort", "0.1.0", "Sort some names by first or last name"]]
    shown.output.table(["Environment", "Version", "Description"], rows, records=[])
    text = shown.out.getvalue()
    assert "starter/alphabet-sort" in text
    assert "0.1.0" in text
    assert "(not shown: Description;" in text


def test_a_terminal_shows_ages_and_a_file_full_timestamps() -> None:
    rows = [["a", "2020-01-02T03:04:05Z"]]
    for tty, told in ((True, "2020-01-02"), (False, "2020-01-02T03:04:05Z")):
        shown = Captured(tty=tty)
        shown.output.table(["Name", "Updated"], rows, records=[])
        assert shown.out.getvalue().split()[-1] == told


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
@pytest.mark.parametrize("mode", ["table", "plain", "json", "jsonl"])
def test_any_console_encoding_can_take_any_text(mode: str, encoding: str) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    output = Output(mode, out=out, err=out)
    output.table(["Name"], [["漢字 … ± \udcff"]], records=[{"name": "漢字 …"}])
    output.fail(NotFound("漢字 …"))
    assert raw.getvalue().decode(encoding)


@given(st.text(), st.text())
def test_json_carries_any_text(name: str, other: str) -> None:
    shown = Captured("json")
    shown.output.show({"name": name, "other": other})
    assert json.loads(shown.out.getvalue()) == {"name": name, "other": other}


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1))
def test_plain_always_has_one_line_a_row_and_one_tab_between(rows: list[tuple[str, str]]) -> None:
    shown = Captured("plain")
    shown.output.table(["A", "B"], rows, records=[])
    lines = shown.out.getvalue().split("\n")[:-1]
    assert [line.count("\t") for line in lines] == [1] * len(rows)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="`yaml` is not an output format"):
        Output("yaml")
