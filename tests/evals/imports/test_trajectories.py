"""Runs written as trajectories of ATIF and read back; and the trials of Harbor."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.process import run
from prime_cli.evals.imports.trajectories import read_trajectories
from prime_cli.runtime.pythons import choose_python
from prime_cli.runtime.uv_tool import find_uv
from tests.helpers.cli import Prime
from tests.runs.episodes import episode, save_traces, task, trace
from tests.runs.rows import row
from tests.runs.saving import save_run

CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
BROKEN = {"id": "2", "type": "function", "function": {"name": "add", "arguments": "{"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
ASKED = [{"role": "system", "content": "Add."}, {"role": "user", "content": "1+1"}]
SAID = [
    {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL, BROKEN]},
    {"role": "tool", "content": "2", "tool_call_id": "1"},
    {"role": "tool", "content": "no JSON", "tool_call_id": "other"},
    {"role": "assistant", "content": "2"},
]


def saved(here: Path) -> str:
    used = {"input": 5, "output": 3}
    rows = (
        row(0, 0, 0.25, prompt=ASKED, completion=SAID, metrics={"m": 1.0}, usage=used, answer="2"),
        row(0, 1, None, prompt="1+1"),
        row(7, 0, 1.0, prompt=[{"role": "user", "content": [PICTURE]}], completion="2", cost=0.5),
        row(8, 0, 0.0),
    )
    return save_run(here, *rows).run_id


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8", newline="\n")


def test_what_was_exported_is_read_back_with_its_rewards(prime: Prime, tmp_path: Path) -> None:
    run_id = saved(tmp_path)
    done = prime("eval", "export", run_id, "--to", "atif", "-O", "there", cwd=tmp_path).ok()
    assert "left out: 1 without a message; not written: images and other media of 1" in done.err
    again = prime("eval", "import", "there", "-o", "json", cwd=tmp_path).ok().json
    assert again["rollouts"] == {"r1": [0.25, 1.0], "r2": [None]}
    assert (again["environment"]["ref"], again["model"]) == ("ada/wordle@1.2", "org/model")
    assert again["metrics"]["m"]["mean"] == 1.0
    compared = prime("eval", "compare", run_id, again["run_id"], cwd=tmp_path)
    assert "1 of 2 examples" in compared.err  # that with the image, which is not written
    prime("eval", "compare", run_id, again["run_id"], "--force", cwd=tmp_path).ok()
    shown = prime("eval", "show", again["run_id"], "--rollout", "0.0", cwd=tmp_path).ok().out
    assert 'add({"a": 1})' in shown


def test_a_step_holds_a_message_with_its_calls_and_their_results(
    prime: Prime, tmp_path: Path
) -> None:
    prime("eval", "export", saved(tmp_path), "--to", "atif", "-O", "there", cwd=tmp_path).ok()
    written = json.loads((tmp_path / "there" / "0.0.json").read_text("utf-8"))
    system, user, agent, last = written["steps"]
    assert [each["source"] for each in written["steps"]] == ["system", "user", "agent", "agent"]
    assert (system["message"], user["message"], last["message"]) == ("Add.", "1+1", "2")
    arguments = [each["arguments"] for each in agent["tool_calls"]]
    assert arguments == [{"a": 1}, {"arguments": "{"}]
    named = [each.get("source_call_id") for each in agent["observation"]["results"]]
    assert named == ["1", None]
    assert written["final_metrics"] == {"total_prompt_tokens": 5, "total_completion_tokens": 3}


def test_hostile_texts_and_numbers_are_imported(prime: Prime, tmp_path: Path) -> None:
    step = {"step_id": 1, "source": "user", "message": "\ud800\x1b[2J"}
    extra = {"prime": {"example_id": 2**70, "prime": {"rollout": 0}, "reward": math.nan}}
    agent = {"name": "a", "version": "1", "model_name": "../../x"}
    told = {"schema_version": "ATIF-v1.6", "agent": agent, "steps": [step], "extra": extra}
    write(tmp_path / "log" / "a.json", told)
    done = prime("eval", "import", "log", "--name", "../../y", "-o", "json", cwd=tmp_path).ok()
    assert done.json["counts"]["errored"] == 1
    assert Path(done.json["path"]).resolve().is_relative_to(tmp_path / "outputs" / "evals")
    record = json.loads((Path(done.json["path"]) / "metadata.json").read_text("utf-8"))
    assert record["prime_import"]["log"] == "log"


def trial(name: str, **more: Any) -> dict[str, Any]:
    return {"task_name": name, "trial_name": f"{name}__x", "source": "bench"} | more


def test_the_trials_of_a_job_are_rollouts_of_their_tasks(tmp_path: Path) -> None:
    step = {"step_id": 1, "source": "user", "message": "Do it."}
    talk = {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": [step]}
    rewards = {"verifier_result": {"rewards": {"style": 0.5, "reward": 1}}}
    failed = {"exception_type": "AgentTimeoutError", "exception_message": "late"}
    write(tmp_path / "1" / "result.json", trial("b", **rewards))
    write(tmp_path / "1" / "agent" / "trajectory.json", talk)
    write(tmp_path / "2" / "result.json", trial("b", exception_info=failed))
    none = {"verifier_result": {"rewards": {"reward": math.nan}}}
    write(tmp_path / "3" / "result.json", trial("a", **none))
    found = read_trajectories(tmp_path, None)
    assert found is not None
    first, late, unscored = found.rows
    assert (first.reward, first.metrics) == (1.0, {"style": 0.5})
    assert [each["content"] for each in first.prompt] == ["Do it."]
    assert (late.example_id, late.rollout, late.error and late.error.message) == (0, 1, "late")
    assert unscored.error is not None
    assert unscored.error.type == "NoReward"
    assert (found.told["env_id"], found.told["harness"]) == ("bench", "a")
    notes = "; ".join(found.notes)
    assert "the reward is `reward`; `style` are metrics" in notes
    assert "2 trials without a trajectory" in notes
    with pytest.raises(UsageError, match="No trial has a reward `x`"):
        read_trajectories(tmp_path, "x")
    write(tmp_path / "1" / "agent" / "trajectory.json", talk | {"steps": [{}]})
    with pytest.raises(UsageError, match="no run of Harbor"):
        read_trajectories(tmp_path, None)


def test_what_is_no_log_is_refused(prime: Prime, tmp_path: Path) -> None:
    refused = prime("eval", "import", ".", cwd=tmp_path)
    assert (refused.code, "no run of a known form" in refused.err) == (2, True)
    assert prime("eval", "import", "missing", cwd=tmp_path).code == 6


@pytest.mark.parametrize("generation", ["v0", "v1"])
def test_a_folder_of_vf_eval_needs_no_import(prime: Prime, tmp_path: Path, generation: str) -> None:
    folder = tmp_path / "a run"
    if generation == "v1":
        save_traces(tmp_path, episode(0, trace(task(0)))).rename(folder)
    else:
        folder.mkdir()
        about = '{"env_id": "e", "model": "m"}'
        (folder / "metadata.json").write_text(about, encoding="utf-8", newline="\n")
        line = '{"example_id": 0, "reward": 1.0, "prompt": [], "completion": []}'
        (folder / "results.jsonl").write_text(line, encoding="utf-8", newline="\n")
    refused = prime("eval", "import", "a run", cwd=tmp_path)
    assert refused.code == 2
    assert "needs no import" in refused.err
    assert "prime eval show 'a run'" in refused.err
    prime("eval", "show", "a run", cwd=tmp_path).ok()


@pytest.mark.slow
def test_harbor_itself_reads_what_is_exported(prime: Prime, tmp_path: Path) -> None:
    prime("eval", "export", saved(tmp_path), "--to", "atif", "-O", "there", cwd=tmp_path).ok()
    python = str(choose_python(">=3.12").path)
    words = ("run", "--no-project", "--isolated", "--python", python, "--with", "harbor", "python")
    program = (
        "import sys; from harbor.models.trajectories import Trajectory as T; "
        "print([len(T.model_validate_json(open(p).read()).steps) for p in sys.argv[1:]])"
    )
    files = sorted(map(str, (tmp_path / "there").glob("*.json")))
    done = run([find_uv(), *words, "-c", program, *files], cwd=tmp_path, timeout=600)
    assert done.ok, done.err
    assert msgspec.json.decode(done.out) == [4, 1, 2]
