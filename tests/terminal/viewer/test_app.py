import shutil
from pathlib import Path

import msgspec

from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.scrubber import Scrubber
from prime_cli.terminal.viewer.rows import Rows
from tests.runs.episodes import episode, save_traces
from tests.runs.rows import row
from tests.runs.saving import PLAN, save_run
from tests.terminal.viewer.screens import Eyes, look_at_all


def test_runs_are_listed_by_environment_and_model_and_opened(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=0.25))

    async def steps(eyes: Eyes) -> None:
        await eyes.see("ada/wordle@1.2 with org/model", folder.run_id, "1 run")
        await eyes.press("enter")
        await eyes.see("reward 0.25")
        await eyes.press("escape")
        await eyes.see("1 run by environment and model")

    look_at_all(tmp_path, steps)


def test_a_run_that_begins_meanwhile_appears(tmp_path: Path) -> None:
    save_run(tmp_path, row(0))

    async def steps(eyes: Eyes) -> None:
        await eyes.see("1 run by")
        later = save_run(tmp_path, row(0))
        await eyes.see("2 runs by", later.run_id)

    look_at_all(tmp_path, steps)


def test_a_run_that_goes_on_shows_how_far_it_is(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0, reward=0.25), status=RUNNING, planned=40)

    async def steps(eyes: Eyes) -> None:
        with writing(folder), Journal(folder.journal, Scrubber({})) as journal:
            await eyes.see("0.25  1 of 40", "running")
            journal.append(row(1, reward=0.75))
            await eyes.see("0.5  2 of 40", "running")

    look_at_all(tmp_path, steps)


def dated(cwd: Path, day: int, model: str = PLAN.model) -> RunFolder:
    plan = msgspec.structs.replace(PLAN, model=model)
    return save_run(cwd, row(0), plan=plan, started=f"2026-01-{day:02}T00:00:00+00:00")


def at_cursor(eyes: Eyes) -> tuple[str, int]:
    """The text of the row under the cursor, and its height on the screen."""
    rows = eyes.viewer.screen.query_one(Rows)
    line = rows.render_line(rows.cursor - round(rows.scroll_y))
    return line.text.strip(), rows.cursor - round(rows.scroll_y)


def test_the_cursor_is_never_on_the_head_of_a_group(tmp_path: Path) -> None:
    runs = [dated(tmp_path, day, model) for day, model in ((1, "a/a"), (2, "b/b"))]

    async def steps(eyes: Eyes) -> None:
        await eyes.see("2 runs by")
        seen = []
        for key in ("home", "down", "down", "up", "up", "end", "pageup"):
            await eyes.press(key)
            seen.append(at_cursor(eyes)[0].split()[0])
        first, last = (run.run_id for run in runs)
        assert seen == [first, last, last, first, first, last, first]

    look_at_all(tmp_path, steps)


def test_escape_goes_back_and_leaves_the_first_screen_open(tmp_path: Path) -> None:
    save_run(tmp_path, row(0))

    async def steps(eyes: Eyes) -> None:
        await eyes.see("1 run by")
        await eyes.press("escape")
        await eyes.see("1 run by", "press q to quit")
        assert eyes.viewer.is_running

    look_at_all(tmp_path, steps)


def test_the_keys_of_a_screen_are_shown_and_hidden(tmp_path: Path) -> None:
    save_run(tmp_path, row(0))

    async def steps(eyes: Eyes) -> None:
        await eyes.see("1 run by")
        await eyes.press("question_mark")
        await eyes.see("Page down", "Compare two", "Last")
        await eyes.press("escape")
        await eyes.see("1 run by", without="Page down")
        await eyes.press("question_mark", "question_mark")
        await eyes.see("1 run by", without="Page down")

    look_at_all(tmp_path, steps)


def test_the_cursor_stays_on_its_run_when_the_list_is_read_again(tmp_path: Path) -> None:
    runs = [dated(tmp_path, day) for day in range(1, 26)]

    async def steps(eyes: Eyes) -> None:
        await eyes.see("25 runs by")
        await eyes.press("pagedown", "down")
        before, height = at_cursor(eyes)
        chosen = next(run for run in runs if before.startswith(run.run_id))
        for day in (26, 27, 28):
            dated(tmp_path, day)
        dated(tmp_path, 29, model="another/model")
        await eyes.see("29 runs by")
        # Five rows more above it: the head and the run of a new group, and three runs.
        assert at_cursor(eyes) == (before, height)
        shutil.rmtree(chosen.path)
        await eyes.see("28 runs by")
        after, still = at_cursor(eyes)
        assert (after != before, still) == (True, height)

    look_at_all(tmp_path, steps)


def test_two_marked_runs_are_compared(tmp_path: Path) -> None:
    for reward in (0.0, 1.0):
        save_run(tmp_path, row(0, reward=reward))

    async def steps(eyes: Eyes) -> None:
        await eyes.see("2 runs by")
        await eyes.press("c")
        await eyes.see("now choose the other run", " * ")
        await eyes.press("down", "c")
        await eyes.see("1 compared", "B - A")

    look_at_all(tmp_path, steps)


def test_an_unreadable_run_is_reported(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0))
    folder.journal.write_text("nonsense\n", encoding="utf-8")

    async def steps(eyes: Eyes) -> None:
        await eyes.see(folder.run_id)
        await eyes.press("enter")
        await eyes.see("is not a rollout")

    look_at_all(tmp_path, steps)


def test_an_empty_list_of_runs_is_reported(tmp_path: Path) -> None:
    async def steps(eyes: Eyes) -> None:
        await eyes.see("0 runs", "none yet: create one with `prime eval run")
        await eyes.press("enter", "c", "down")

    look_at_all(tmp_path, steps)


def test_runs_of_vf_eval_are_opened_too(tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / "evals" / "gsm8k--model" / "1f2e3d4c"
    folder.mkdir(parents=True)
    (folder / "metadata.json").write_text('{"env_id": "gsm8k", "model": "model"}')
    (folder / "results.jsonl").write_text('{"example_id": 0, "reward": 0.75, "prompt": "say"}\n')
    assert open_run(folder).manifest is None

    async def steps(eyes: Eyes) -> None:
        await eyes.see("gsm8k with model")
        await eyes.press("enter")
        await eyes.see("reward 0.75")
        await eyes.press("enter")
        await eyes.see("say")

    look_at_all(tmp_path, steps)


def test_runs_of_the_v1_evaluator_are_opened_too(tmp_path: Path) -> None:
    save_traces(tmp_path, episode(0), episode(1), episode(1))

    async def steps(eyes: Eyes) -> None:
        await eyes.see("echo-tasks", "45cedbc2")
        await eyes.press("enter")
        await eyes.see("3 rollouts · 2 examples")
        await eyes.press("enter")
        await eyes.see("say it", "correct")

    look_at_all(tmp_path, steps)
