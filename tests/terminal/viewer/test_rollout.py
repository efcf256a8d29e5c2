from pathlib import Path

from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.terminal.viewer.screens import Eyes, look_at_run

CALL = {"function": {"name": "guess", "arguments": '{"word": "crane"}'}}


def test_parts_of_the_reward_timing_and_tool_calls_are_shown(tmp_path: Path) -> None:
    told = row(
        0,
        metrics={"format": 0.25},
        timing={"total": 1.5},
        prompt=[{"role": "user", "content": "guess a word"}],
        completion=[{"role": "assistant", "content": "hm", "tool_calls": [CALL]}],
    )
    folder = save_run(tmp_path, told)

    async def steps(eyes: Eyes) -> None:
        await eyes.press("enter")
        await eyes.see("reward", "  format", "0.25", "total 1.5", "guess a word", "hm")
        await eyes.see("assistant calls ─", 'guess({"word": "crane"})')

    look_at_run(folder.path, steps)


def test_turns_are_jumped_to(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": f"turn {n}\n" + "more\n" * 30} for n in range(4)]
    folder = save_run(tmp_path, row(0, prompt=turns))

    async def steps(eyes: Eyes) -> None:
        await eyes.press("enter")
        await eyes.see("turn 0", without="turn 1")
        await eyes.press("right_square_bracket", "right_square_bracket")
        await eyes.see("turn 1", without="turn 0")
        await eyes.press("left_square_bracket")
        await eyes.see("turn 0", without="turn 1")
        await eyes.press("end")
        await eyes.see("more", without="turn 3")

    look_at_run(folder.path, steps)


def test_what_a_transcript_says_cannot_draw(tmp_path: Path) -> None:
    hostile = "[bold red]m[/] [@click=app.quit]q[/] \x1b[2J\x1b]0;t\x07 \u202eback \ud800 end"
    folder = save_run(tmp_path, row(0, metrics={"[link]x": 1.0}))
    line = folder.journal.read_text("utf-8").replace(
        '"prompt":null', f'"prompt":"{escaped(hostile)}"'
    )
    folder.journal.write_text(line, "utf-8")

    async def steps(eyes: Eyes) -> None:
        await eyes.press("enter")
        await eyes.see("[bold red]m[/] [@click=app.quit]q[/] [2J]0;t back", "end", "[link]x")
        assert not {"\x1b", "\x07", "\u202e", "\ud800"} & set(eyes.text)

    look_at_run(folder.path, steps)


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text if ord(letter) < 0xD800)


def test_long_lines_and_wide_letters_are_wrapped(tmp_path: Path) -> None:
    text = "word " * 40 + "\n" + "日本" * 60 + "\n" + "x" * 200 + "END"
    folder = save_run(tmp_path, row(0, completion=text))

    async def steps(eyes: Eyes) -> None:
        await eyes.press("enter")
        await eyes.see("word word", "日本", "END")
        assert eyes.text.count("日本") == 60

    look_at_run(folder.path, steps)
