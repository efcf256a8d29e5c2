from pathlib import Path

from prime_cli.runs.saved_run import open_run
from tests.runs.episodes import episode, save_traces
from tests.runs.rows import row
from tests.runs.saving import save_run
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
