"""Trajectories of ATIF, and the trials of Harbor that have them.

A trial is a folder with `result.json` and `agent/trajectory.json` (`steps/*/agent/…` if it has
several steps); their forms are `TrialResult` and `Trajectory` of the package harbor. A folder of
trajectories alone, as `prime eval export --to atif` writes it, has rewards in `extra.prime`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import join_words, pluralize
from prime_cli.core.paths import storage_errors
from prime_cli.evals.imports.foreign import ForeignRun, without_score
from prime_cli.runs.rows import LARGEST, Failure, Row
from prime_cli.runs.vf_eval_reader import decode_object, row_of_line

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_PARTLY: dict[str, Callable[[dict[str, Any]], bool]] = {
    "subagents, whose messages are not in the run": lambda each: bool(
        each.get("subagent_trajectories")
    ),
    "a continuation, which is not in the run": lambda each: bool(
        each.get("continued_trajectory_ref")
    ),
    "images or other media, which stay in their files": lambda each: any(
        isinstance(step["message"], list) for step in each["steps"]
    ),
}
_MISSHAPEN = (AttributeError, TypeError, LookupError, ValueError)


@dataclass(frozen=True)
class _Trial:
    """What is known of a rollout: its trajectories, and `result.json` where Harbor wrote one."""

    path: Path
    trajectories: list[dict[str, Any]]
    result: dict[str, Any] | None = None


def read_trajectories(path: Path, reward: str | None) -> ForeignRun | None:
    """The run in a file or folder; None if it has no trajectories.

    The reward of a trial is `reward`, else the one of that name, else the first. Raises UsageError
    for what is malformed, and for an unknown reward; StorageFailed.
    """
    trials = _trials(path)
    if not trials:
        return None
    try:
        names = list(dict.fromkeys(name for each in trials for name in _rewards(each)))
        if reward is not None and reward not in names:
            hint = f"choose one with `--scorer`: {', '.join(names) or 'it has none'}"
            raise UsageError(f"No trial has a reward `{reward}`", hint=hint)
        chosen = reward or ("reward" if "reward" in names else next(iter(names), "reward"))
        rows = list(_rows(trials, chosen))
        notes = tuple(_notes(trials, [name for name in names if name != chosen], chosen))
        return ForeignRun("ATIF", _told(path, trials), rows, notes)
    except _MISSHAPEN as error:
        raise UsageError(f"{path} is no run of Harbor: {error!r}") from error


def _trials(path: Path) -> list[_Trial]:
    results = [path / "result.json", *sorted(path.glob("*/result.json"))] if path.is_dir() else []
    trials = []
    for file in results:
        result = _load(file)
        if result is not None and "trial_name" in result:
            folder = file.parent
            files = [*folder.glob("agent/trajectory.json")]
            files = files or sorted(folder.glob("steps/*/agent/trajectory.json"))
            found = [each for each in map(_load, files) if _is_trajectory(each)]
            trials.append(_Trial(folder, [each for each in found if each is not None], result))
    if trials:
        return trials
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    loaded = ((file, _load(file)) for file in files)
    return [_Trial(file, [each]) for file, each in loaded if each and _is_trajectory(each)]


def _load(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    with storage_errors(path):
        return decode_object(path.read_bytes())


def _is_trajectory(value: dict[str, Any] | None) -> bool:
    return value is not None and str(value.get("schema_version")).startswith("ATIF-")


def _rewards(trial: _Trial) -> dict[str, float]:
    return ((trial.result or {}).get("verifier_result") or {}).get("rewards") or {}


def _rows(trials: list[_Trial], reward: str) -> Iterator[Row]:
    seen: Counter[int] = Counter()
    names: dict[str, int] = {}
    for trial in trials:
        messages = [each for one in trial.trajectories for each in _messages(one)]
        start = next((n for n, each in enumerate(messages) if each["role"] == "assistant"), None)
        talk = {
            "prompt": messages[:start],
            "completion": [] if start is None else messages[start:],
        }
        own = (
            (trial.trajectories[0].get("extra") or {}).get("prime") if trial.trajectories else None
        )
        if trial.result is None and isinstance(own, dict):
            yield row_of_line(own | talk, own["example_id"], own["prime"]["rollout"])
            continue
        result = trial.result or {}
        example = names.setdefault(str(result.get("task_name", trial.path.name)), len(names))
        yield _row(trial, result, example, seen[example], reward, talk)
        seen[example] += 1


def _row(
    trial: _Trial, result: dict[str, Any], example: int, rollout: int, name: str, talk: Any
) -> Row:
    rewards, failure = _rewards(trial), _failure(result.get("exception_info"))
    value = rewards.get(name)
    if value is not None and not abs(value) <= LARGEST:
        value = None
    if failure is None and value is None:
        failure = without_score(f"the trial has no reward `{name}`")
    used = result.get("agent_result") or {}
    tokens = {"input": used.get("n_input_tokens"), "output": used.get("n_output_tokens")}
    return Row(
        example_id=example,
        rollout=rollout,
        reward=None if failure or value is None else float(value),
        metrics={key: each for key, each in rewards.items() if key != name},
        info={"task_name": result.get("task_name"), "trial_name": result.get("trial_name")},
        error=failure,
        usage=tokens if None not in tokens.values() else None,
        **talk,
    )


def _failure(error: dict[str, Any] | None) -> Failure | None:
    if not error:
        return None
    words, trace = error.get("exception_message", ""), error.get("exception_traceback")
    return Failure("environment", str(error["exception_type"]), str(words), traceback=trace)


def _messages(trajectory: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in trajectory["steps"]:
        message = {"role": _ROLES[step["source"]], "content": step["message"]}
        if step.get("reasoning_content"):
            message["reasoning_content"] = step["reasoning_content"]
        if step.get("tool_calls"):
            message["tool_calls"] = [_call(each) for each in step["tool_calls"]]
        yield message
        for result in (step.get("observation") or {}).get("results", ()):
            said = {"role": "tool", "content": result.get("content")}
            yield said | {"tool_call_id": result.get("source_call_id")}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": call["function_name"], "arguments": json.dumps(call["arguments"])}
    return {"id": call["tool_call_id"], "type": "function", "function": function}


def _told(path: Path, trials: list[_Trial]) -> dict[str, Any]:
    first = next((each for trial in trials for each in trial.trajectories), {})
    agent, result = first.get("agent") or {}, trials[0].result or {}
    told = (result.get("agent_info") or {}).get("model_info") or {}
    environment = (first.get("extra") or {}).get("environment") or result.get("source")
    return {
        "env_id": str(environment or path.stem),
        "model": str(agent.get("model_name") or told.get("name") or "?"),
        "date": result.get("started_at"),
        "framework": "harbor",
        "harness": agent.get("name"),
    }


def _notes(trials: list[_Trial], others: list[str], reward: str) -> Iterator[str]:
    if others:
        named = join_words([f"`{name}`" for name in others])
        yield f"the reward is `{reward}`; {named} are metrics"
    untold = sum(not trial.trajectories for trial in trials)
    if untold:
        yield f"{pluralize(untold, 'trial')} without a trajectory: no messages"
    parts = [each for trial in trials for each in trial.trajectories]
    for what, has in _PARTLY.items():
        if count := sum(has(each) for each in parts):
            yield f"{pluralize(count, 'trajectory', 'trajectories')} with {what}"
    yield "tokens and times of each step are not in the run"
