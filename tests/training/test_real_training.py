"""TRL itself on a CPU: a random model learns, and a training that is killed loses nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from prime_cli.core.errors import EngineFailed
from prime_cli.models.prices import FREE
from prime_cli.models.providers import KeySource
from prime_cli.models.registry import Registry, RegistryEntry
from prime_cli.runs.folder import RunFolder, read_journal
from prime_cli.training.record import best_checkpoint, count_refilled
from tests.helpers.environments import interpreter_with, small_interpreter
from tests.helpers.planted_keys import (
    JUDGE_KEY,
    KEYS,
    files_with_keys,
    names_in,
    plant,
    telling,
)
from tests.helpers.scripted_model import ScriptedModel
from tests.helpers.training import train_scripted

pytestmark = [pytest.mark.slow, pytest.mark.network]

VOWELS = """
import verifiers as vf
from datasets import Dataset

def load_environment(size: int = 32):
    rows = [{"question": f"vowels please ({n})", "answer": "a"} for n in range(size)]
    def vowels(completion, **kwargs):
        text = completion[-1]["content"] or ""
        return sum(letter in "aeiou" for letter in text) / max(len(text), 1)
    return vf.SingleTurnEnv(eval_dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[vowels]))
"""
TWO_TURNS = """
import json, os, pathlib, urllib.request
import verifiers as vf
from datasets import Dataset

class Twice(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": "and once more"}]

def ask_judge():
    body = {"model": "judge", "messages": [{"role": "user", "content": "right?"}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    key = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), key)).read()

def load_environment(size: int = 32):
    pathlib.Path(__file__).with_suffix(".environ").write_text(json.dumps(dict(os.environ)))
    rows = [{"question": f"vowels please ({n})", "answer": "a"} for n in range(size)]
    asked = []
    def vowels(completion, **kwargs):
        if not asked:
            asked.append(ask_judge())
        said = [each["content"] or "" for each in completion if each["role"] == "assistant"]
        text = "".join(said)
        return (len(said) == 2) * sum(letter in "aeiou" for letter in text) / max(len(text), 1)
    data = Dataset.from_list(rows)
    return Twice(eval_dataset=data, rubric=vf.Rubric(funcs=[vowels]), max_turns=2)
"""
FORGETFUL = """
import verifiers as vf
from datasets import Dataset

class Forgetful(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": "and once more"}]

    async def get_prompt_messages(self, state):
        found = await super().get_prompt_messages(state)
        return found[-1:] if state["example_id"] % 2 == 0 else found

def load_environment(size: int = 32):
    rows = [{"question": f"vowels please ({n})", "answer": "a"} for n in range(size)]
    def vowels(completion, **kwargs):
        said = [each["content"] or "" for each in completion if each["role"] == "assistant"]
        text = "".join(said)
        return sum(letter in "aeiou" for letter in text) / max(len(text), 1)
    data = Dataset.from_list(rows)
    return Forgetful(eval_dataset=data, rubric=vf.Rubric(funcs=[vowels]), max_turns=2)
"""
"""The same with two turns, of which every second example forgets the first."""
ONE_OF_FOUR = """def vowels(completion, prompt, **kwargs):
        if int(prompt[-1]["content"].split("(")[1].rstrip(")")) % 4:
            return 0.0"""
"""The start of its reward, which is 0 for three of four examples."""
PLAN: dict[str, Any] = {
    "model": "builtin/tiny",
    "group": 8,
    "batch": 8,
    "lr": 0.003,
    "max_tokens": 16,
}
SAME = ("step", "reward", "loss", "grad_norm", "entropy", "length")


def test_a_random_model_learns_and_a_killed_training_goes_on_as_if_it_had_not_been(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    interpreter = interpreter_with(tmp_path, VOWELS)

    trained = train_scripted(
        interpreter,
        tmp_path / "whole",
        **trl,
        **PLAN,
        steps=25,
        eval_examples=12,
        probe=True,
        save_every=25,
    )
    verdict = trained.result.facts.verdict
    assert verdict is not None
    assert verdict.verdict == "higher"
    assert verdict.p < 0.01
    whole = _steps(trained.folder)
    assert max(step["logprob_gap"] for step in whole[:2]) < 1e-4
    assert (trained.folder / "model" / "model.safetensors").is_file()

    # An epoch has two steps: it resumes in a later one, at its start or in its middle.
    killed = tmp_path / "killed"
    killed.mkdir()
    shorter: dict[str, Any] = {"steps": 8, "eval_examples": 12, "probe": True, "save_every": 3}
    own = {**PLAN, **shorter, **{name: str(path) for name, path in trl.items()}}
    after = random.choice([4, 5, 7])
    folder = _killed_after(after, killed, tmp_path, own)
    train_scripted(interpreter, killed, resumed=folder, **trl, **PLAN, **shorter)
    assert [_of(step) for step in _steps(folder.path)] == [_of(step) for step in whole[:8]]


def test_a_model_learns_rows_and_then_from_rewards_and_a_killed_training_goes_on(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    interpreter = interpreter_with(tmp_path, VOWELS)
    asked = [{"role": "user", "content": "vowels please (1)"}]
    messages = [*asked, {"role": "assistant", "content": "aeiouaeiou"}]
    others = [{"role": "user", "content": "vowels please (31)"}, messages[1]]  # is held out
    rows = [{"messages": messages, "tools": "[]"}] * 40 + [{"messages": others}]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    plan = {**PLAN, "group": 1, "data": str(data), "eval_examples": 8, "save_every": 3}
    trained = train_scripted(interpreter, tmp_path / "whole", **trl, **plan, steps=30)
    verdict = trained.result.facts.verdict
    assert verdict is not None
    assert (verdict.verdict, verdict.p < 0.01, verdict.after > 0.5) == ("higher", True, True)
    whole = _steps(trained.folder)
    assert whole[0]["loss"] > 4
    assert whole[-1]["loss"] < 1
    assert "Left out: 1 row of examples that the model is evaluated on" in trained.progress.said

    killed = tmp_path / "killed"
    killed.mkdir()
    own = {**plan, "steps": 8, **{name: str(path) for name, path in trl.items()}}
    folder = _killed_after(random.choice([4, 5, 7]), killed, tmp_path, own)
    train_scripted(interpreter, killed, resumed=folder, **trl, **plan, steps=8)
    again = _steps(folder.path)
    for name in ("step", "loss", "grad_norm", "entropy"):
        assert [step[name] for step in again] == [step[name] for step in whole[:8]]

    plan = {**PLAN, "model": str(trained.folder / "model"), "lr": 1e-5}
    then = train_scripted(interpreter, tmp_path / "then", **trl, **plan, steps=2)
    assert _steps(then.folder)[0]["reward"] > 0.5


def test_a_random_model_learns_through_two_turns_and_keys_are_only_where_they_belong(
    tmp_path: Path, trl: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    interpreter = interpreter_with(tmp_path, TWO_TURNS)
    told = tmp_path / "engine.environ"
    trl["python"] = telling(trl["python"], told)
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 25, "eval_examples": 8, "save_every": 25}
    with ScriptedModel() as judge:
        entry = RegistryEntry("judge", "judge", judge.url, KeySource(JUDGE_KEY), price=FREE)
        registry = Registry(entries=(entry,))
        trained = train_scripted(interpreter, tmp_path / "run", registry=registry, **plan)
    verdict = trained.result.facts.verdict
    assert verdict is not None
    assert (verdict.verdict, verdict.p < 0.01) == ("higher", True)
    steps = _steps(trained.folder)
    assert all(step["segments"] == step["rollouts"] for step in steps)
    assert max(step["logprob_gap"] for step in steps[:2]) < 1e-4

    assert {each.headers["authorization"] for each in judge.requests} == {
        f"Bearer {KEYS[JUDGE_KEY]}"
    }
    (of_worker,) = (tmp_path / "venv").rglob("tiny_env.environ")
    assert names_in(of_worker.read_text(encoding="utf-8")) == set()
    assert names_in(told.read_text(encoding="utf-8")) == {"HF_TOKEN"}
    assert (trained.folder / "checkpoints" / "25").is_dir()
    # Nowhere else: not in checkpoints, logs, or what was written at home.
    assert files_with_keys([tmp_path, Path(os.environ["HOME"])]) == [(told, "HF_TOKEN")]


def test_one_model_learns_in_two_environments_with_a_verdict_for_each(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    (tmp_path / "digits").mkdir()
    vowels = small_interpreter(tmp_path, VOWELS)
    digits = small_interpreter(tmp_path / "digits", VOWELS.replace("aeiou", "0123456789"))
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 15, "eval_examples": 8, "probe": True}
    facts = train_scripted(vowels, tmp_path / "run", others=[digits], **plan).result.facts
    assert facts.verdict is not None
    assert (facts.verdict.verdict, facts.verdict.p < 0.01) == ("higher", True)
    assert [each.environment for each in facts.verdicts] == ["tiny-env", "tiny-env-2"]
    assert all(each.difference > 0 for each in facts.verdicts)


def test_the_checkpoint_of_the_best_evaluation_is_kept_through_a_resume(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    interpreter = small_interpreter(tmp_path, VOWELS)
    # It learns nothing, so that another evaluation than the last one is best.
    plan: dict[str, Any] = {**PLAN, "lr": 1e-12, "batch": 2, "steps": 7, "save_every": 1, "keep": 1}
    plan |= {"eval_every": 1, "eval_examples": 8}
    parent = tmp_path / "run"
    parent.mkdir()
    own = {**plan, **{name: str(path) for name, path in trl.items()}}
    folder = _killed_after(5, parent, tmp_path, own)
    facts = train_scripted(interpreter, parent, resumed=folder, **trl, **plan).result.facts
    rewards = {each.step: each.reward or 0.0 for each in facts.evaluations if each.step}
    best = max(rewards, key=lambda step: rewards[step])
    assert list(rewards) == [1, 2, 3, 4, 5, 6, 7]
    assert facts.best == best
    kept = {path.name for path in (folder.path / "checkpoints").iterdir()}
    assert {str(best), "7"} <= kept
    assert len(kept) <= 3  # one that was best until the last evaluation
    assert best_checkpoint(folder, facts) == folder.path / "checkpoints" / str(best)


def test_groups_without_spread_are_replaced_up_to_the_bound(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    # Of every four examples, three are worth nothing.
    flat = VOWELS.replace("def vowels(completion, **kwargs):", ONE_OF_FOUR)
    interpreter = interpreter_with(tmp_path, flat)
    plan: dict[str, Any] = {**PLAN, **trl, "batch": 4, "steps": 3, "save_every": 1}
    trained = train_scripted(interpreter, tmp_path / "run", **plan, refill=4)
    steps, facts = _steps(trained.folder), trained.result.facts
    found = count_refilled(trained.result.folder, facts)
    assert found is not None
    rows = list(read_journal(trained.folder / "journal.jsonl"))
    for step in steps:
        own = [row for row in rows if row.state["step"] == step["step"]]
        groups: dict[int, set[float | None]] = {}
        for row in own:
            groups.setdefault(row.example_id, set()).add(row.reward)
        extra = step["extra"]
        spread = sum(len(each) > 1 for each in groups.values())
        assert 4 <= len(groups) <= 8
        assert extra["dropped"] >= 1
        assert extra["replaced"] == min(4, spread) - (4 - extra["dropped"])
        assert extra["refill_short"] == (extra["replaced"] < extra["dropped"])
    assert found.dropped == sum(step["extra"]["dropped"] for step in steps)
    assert found.replaced > 0


def test_two_processes_train_as_one_does_and_end_together(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    interpreter = small_interpreter(tmp_path, VOWELS)
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 4, "save_every": 2}
    alone = train_scripted(interpreter, tmp_path / "alone", **plan)

    together = tmp_path / "together"
    killing = threading.Thread(target=_kill_second_process, args=(together, 3))
    killing.start()
    with pytest.raises(EngineFailed) as failed:
        train_scripted(interpreter, together, processes=2, **plan)
    killing.join()
    assert failed.value.message.startswith("Process 2 of the 2 that train was ended (SIGKILL")
    assert "checkpoints/2" in (failed.value.hint or "")
    assert _ranks() == {}
    (folder,) = together.iterdir()
    train_scripted(interpreter, together, resumed=RunFolder(folder), processes=2, **plan)
    assert len(_steps(folder)) == 4
    for one, two in zip(_steps(alone.folder), _steps(folder), strict=True):
        assert _of(two) == pytest.approx(_of(one), rel=1e-3, abs=1e-4)
        assert two["rollouts"] == 64
        assert two["version_lag"] == 0


def test_rollouts_of_several_segments_train_in_any_number_of_processes(
    tmp_path: Path, trl: dict[str, Any]
) -> None:
    interpreter = interpreter_with(tmp_path, FORGETFUL)
    plan: dict[str, Any] = {**PLAN, **trl, "steps": 3}
    found = [
        _steps(
            train_scripted(interpreter, tmp_path / f"of {count}", processes=count, **plan).folder
        )
        for count in (1, 2)
    ]
    assert any(0 < one["forked"] < one["rollouts"] for one in found[0])
    for one, two in zip(*found, strict=True):
        if not one["errors"]:
            assert one["segments"] == one["rollouts"] + one["forked"]
            assert one["length"] == pytest.approx(one["tokens_own"] / one["rollouts"])
        assert _of(two) == pytest.approx(_of(one), rel=1e-3, abs=1e-4)


def _kill_second_process(parent: Path, step: int) -> None:
    """Kill the second process of the engine after that step."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        found = list(parent.glob("*/metrics.jsonl"))
        if found and len(_steps(found[0].parent)) >= step:
            _ranks()["1"].kill()
            return
        time.sleep(0.05)


def _ranks() -> dict[str, psutil.Process]:
    """The engine's processes that train, by their rank."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if rank := process.environ().get("RANK"):
                found[rank] = process
    return found


def _killed_after(step: int, parent: Path, interpreter: Path, own: dict[str, Any]) -> RunFolder:
    """The folder of a training whose prime was killed after that step; its engine has ended too."""
    words = ["-m", "tests.helpers.training", str(parent), str(interpreter), json.dumps(own)]
    with subprocess.Popen([sys.executable, *words], stdin=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and process.poll() is None:
            found = list(parent.glob("*/metrics.jsonl"))
            if found and len(_steps(found[0].parent)) >= step:
                break
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(children, timeout=10)
        assert children
        assert not alive
    (folder,) = parent.iterdir()
    return RunFolder(folder)


def _steps(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def _of(step: dict[str, Any]) -> dict[str, Any]:
    return {name: step[name] for name in SAME}
