from pathlib import Path

import pytest

from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.scrubber import Scrubber
from prime_cli.terminal.viewer.run import RunScreen
from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.terminal.viewer.screens import Eyes, look_at_run


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return save_run(
        tmp_path,
        row(0, 0, 0.25, completion="a cat"),
        row(0, 1, 1.0, completion="a dog"),
        row(1, 0, None),
        row(1, 1, 0.5, completion="a Cat", is_truncated=True),
        row(2, 0, 0.0),
    )


def test_the_summary_stands_above_a_grid_of_examples_by_rollouts(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.see("ada/wordle@1.2 with org/model", "reward 0.438", "5 of 4 rollouts")
        cells = [line.split() for line in eyes.lines[3:7]]
        assert cells == [
            ["example", "mean", "r0", "r1"],
            ["0", "0.625", "0.25", "1"],
            ["1", "0.5", "infra!", "0.5~"],
            ["2", "0", "0"],
        ]
        await eyes.see("Text", "Quit")  # the footer, which Textual draws last

    look_at_run(folder.path, steps)


def test_errors_are_filtered_with_a_key_and_shown_again(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("e")
        await eyes.see("1 errored rollout", without="0.625")
        await eyes.press("e")
        await eyes.see("0.625")

    look_at_run(folder.path, steps)


def test_rollouts_are_narrowed_to_an_outcome_that_is_typed(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("o")
        await eyes.type("flipped")
        await eyes.see("2 flipped rollouts", without="0.5~")
        await eyes.press("o")
        await eyes.type("bad")
        await eyes.see("`bad` is not an outcome of a rollout")

    look_at_run(folder.path, steps)


def test_rewards_are_filtered_by_a_range_that_is_typed(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("r")
        await eyes.type(">=0.5")
        await eyes.see("2 rollouts with reward >=0.5", without="\n        2 ")
        await eyes.press("r")
        await eyes.type("much")
        await eyes.see("`much` is not a range of rewards", "0.2..0.8")
        await eyes.press("escape")
        await eyes.see("\n        2 ")

    look_at_run(folder.path, steps)


def test_text_is_searched_and_added_to_the_other_filters(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("slash")
        await eyes.see("text in any message")
        await eyes.type("cat")
        await eyes.see("2 rollouts with text cat")
        await eyes.press("r")
        await eyes.type("<0.4")
        await eyes.see("1 rollout with reward <0.4 and text cat", without="infra!")
        await eyes.press("x")
        await eyes.see("infra!", without="with reward")

    look_at_run(folder.path, steps)


def test_rollouts_of_a_training_are_filtered_by_step(tmp_path: Path) -> None:
    # Each of two examples is played twice in each of three steps.
    rows = [
        row(example, 2 * step + n, (4 * step + 2 * example + n) / 8, state={"step": step + 1})
        for step in range(3)
        for example in range(2)
        for n in range(2)
    ]
    folder = save_run(tmp_path, *rows)

    async def steps(eyes: Eyes) -> None:
        await eyes.see("r5", "s Step")
        await eyes.press("s")
        await eyes.see("step of the training, as 3")
        await eyes.type("2")
        await eyes.see("4 rollouts with step 2")
        assert [line.split() for line in eyes.lines[3:6]] == [
            ["example", "mean", "1", "2"],
            ["0", "0.562", "0.5", "0.625"],
            ["1", "0.812", "0.75", "0.875"],
        ]
        await eyes.press("r")
        await eyes.type(">0.6")
        await eyes.see("3 rollouts with step 2 and reward >0.6", without="0.5 ")
        await eyes.press("enter")
        await eyes.see("example 0, rollout 3")
        await eyes.press("n", "n", "n")
        await eyes.see("example 1, rollout 3", "that was the last one")

    look_at_run(folder.path, steps)


def test_an_evaluation_is_not_asked_for_its_steps(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.see("r Reward", without="s Step")
        await eyes.press("s")
        await eyes.see("0.625", without="step of the training")

    look_at_run(folder.path, steps)


def test_a_question_that_is_left_changes_nothing(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("slash", "c", "a", "t", "escape")
        await eyes.see("0.625", without="text in any message")
        assert eyes.viewer.is_running

    look_at_run(folder.path, steps)


def test_a_rollout_is_opened_and_its_neighbours_follow_the_filter(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("slash")
        await eyes.type("cat")
        await eyes.see("2 rollouts with")
        await eyes.press("enter")
        await eyes.see("example 0, rollout 0", "a cat")
        await eyes.press("n")
        await eyes.see("example 1, rollout 1", "a Cat")
        await eyes.press("n")
        await eyes.see("that was the last one")
        await eyes.press("p")
        await eyes.see("example 0, rollout 0")
        await eyes.press("escape")
        await eyes.see("2 rollouts with")

    look_at_run(folder.path, steps)


def test_the_cursor_goes_over_examples_and_rollouts(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("down", "right", "enter")
        await eyes.see("example 1, rollout 1")
        await eyes.press("escape", "end", "enter")
        await eyes.see("example 2, rollout 0")

    look_at_run(folder.path, steps)


def test_more_rollouts_than_fit_are_reached_to_the_right(tmp_path: Path) -> None:
    folder = save_run(tmp_path, *(row(0, rollout, rollout / 100) for rollout in range(50)))

    async def steps(eyes: Eyes) -> None:
        assert "r49" not in eyes.text
        await eyes.press(*["right"] * 60)
        await eyes.see("r49", "0.49")
        await eyes.press("enter")
        await eyes.see("example 0, rollout 49")

    look_at_run(folder.path, steps)


def test_a_run_that_is_going_is_followed(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(3, 0, 1.0), status="running")

    async def steps(eyes: Eyes) -> None:
        await eyes.see("1 of 4 rollouts", "live")
        with Journal(folder.journal, Scrubber({})) as journal:
            journal.append(row(1, 0, 0.0, completion="a cat"))
        await eyes.see("2 of 4 rollouts", "reward 0.5")
        await eyes.press("enter")
        await eyes.see("example 3, rollout 0")

    with writing(folder):
        look_at_run(folder.path, steps)


def test_the_first_screen_is_full_on_a_small_terminal_and_a_wide_one(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.see("reward 0.438", "0.625")

    look_at_run(folder.path, steps, (40, 12))
    look_at_run(folder.path, steps, (200, 60))


def test_a_look_for_more_does_not_end_a_search(folder: RunFolder) -> None:
    async def steps(eyes: Eyes) -> None:
        screen = eyes.viewer.screen
        assert isinstance(screen, RunScreen)
        screen._apply({"text": "cat", "reward": "", "only": ""})
        screen._follow(refresh=True)
        await eyes.see("2 rollouts with text cat")

    look_at_run(folder.path, steps)


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
