from pathlib import Path

from tests.runs.rows import row
from tests.runs.saving import save_run
from tests.terminal.viewer.screens import Eyes, look_at_pair


def runs(tmp_path: Path) -> tuple[Path, Path]:
    first = [row(example, completion=f"first {example}") for example in range(60)]
    other = [
        row(example, reward=0.0 if example in (40, 50) else 1.0, completion=f"other {example}")
        for example in range(60)
    ]
    return save_run(tmp_path, *first).path, save_run(tmp_path, *other).path


def test_two_runs_stand_side_by_side_and_flips_are_jumped_to(tmp_path: Path) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.see("60 compared · 0 better in B · 2 worse in B", without="worse\n")
        await eyes.press("n")
        await eyes.see("-1  worse", "       40 ")
        await eyes.press("n", "n")
        await eyes.see("that was the last flip", "       50 ")
        await eyes.press("p", "p")
        await eyes.see("that was the first flip", "       40 ")

    look_at_pair(*runs(tmp_path), steps)


def test_an_example_is_opened_in_both_runs(tmp_path: Path) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.press("n", "enter")
        await eyes.see("example 40, rollout 0", "first 40", "other 40")
        await eyes.press("n")
        await eyes.see("first 50", "other 50")
        await eyes.press("escape")
        await eyes.see("60 compared")

    look_at_pair(*runs(tmp_path), steps)


def test_both_sides_scroll_together(tmp_path: Path) -> None:
    said = "\n".join(f"line {number}" for number in range(80))
    folders = [save_run(tmp_path, row(0, completion=said)).path for _ in range(2)]

    async def steps(eyes: Eyes) -> None:
        await eyes.press("enter")
        await eyes.see("line 0")
        await eyes.press("end")
        await eyes.see("line 79", without="line 0 ")
        assert eyes.text.count("line 79") == 2

    look_at_pair(folders[0], folders[1], steps)


def test_rollouts_of_an_example_are_turned_over(tmp_path: Path) -> None:
    first = save_run(tmp_path, row(0, 0, completion="one"), row(0, 1, completion="two"))
    other = save_run(tmp_path, row(0, 0, completion="three"))

    async def steps(eyes: Eyes) -> None:
        await eyes.press("enter")
        await eyes.see("one", "three")
        await eyes.press("right")
        await eyes.see("two", "B has no such rollout", without="three")
        await eyes.press("left")
        await eyes.see("three")

    look_at_pair(first.path, other.path, steps)
