"""Logs of inspect_ai (`.eval`, `.json`), read by inspect_ai itself in an interpreter of its own.

`runtime/worker/inspect_samples.py` writes what is read here, and says where its form is documented.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.errors import ResolveFailed, UsageError
from prime_cli.core.formatting import join_words, pluralize
from prime_cli.core.progress import Task
from prime_cli.evals.imports.foreign import ForeignRun, without_score
from prime_cli.runs.rows import LARGEST, Failure, Row, example_number
from prime_cli.runs.vf_eval_reader import read_objects
from prime_cli.runtime.uv_tool import network_failure, reason_of_failure, run_uv

_PROGRAM = Path(__file__).parents[2] / "runtime" / "worker" / "inspect_samples.py"
_REQUIREMENT = "inspect-ai>=0.3"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partial, incorrect, no answer: https://inspect.aisi.org.uk/scorers.html"""
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_NEVER = "events between the messages, and the cost, are not in the run"


def read_log(
    path: Path, scratch: Path, scorer: str | None, task: Task, *, offline: bool
) -> ForeignRun:
    """The log in file `path`; `scratch` must be there while its rows are read.

    The reward is the first score, or `scorer`. Raises UsageError for what inspect_ai cannot read
    and for an unknown scorer, ResolveFailed, Offline and Unreachable where it cannot be installed.
    """
    lines = scratch / "samples.jsonl"
    _extract(path, lines, task, offline=offline)
    return read_samples(lines, scorer)


def read_samples(lines: Path, scorer: str | None) -> ForeignRun:
    """The run in a file as `inspect_samples.py` writes it; raises UsageError."""
    objects = (value for _, _, value in read_objects(lines))
    first = next(objects)
    log, reader = first["log"], f"inspect_ai {first['reader']}"
    counts = _Counts(log, objects)
    reward = counts.reward(scorer)

    def rows() -> Iterator[Row]:
        samples = (value for _, _, value in read_objects(lines))
        next(samples)
        return (_row(each, counts.numbers[_key(each)], reward) for each in samples)

    return ForeignRun(reader, _told(log), rows(), (*counts.notes(reward, scorer), _NEVER))


def _extract(path: Path, target: Path, task: Task, *, offline: bool) -> None:
    words: list[str | Path] = [
        "run",
        "--quiet",
        "--no-project",
        "--isolated",
        "--python",
        sys.executable,
    ]
    program = [
        "--with",
        _REQUIREMENT,
        "python",
        "-I",
        str(_PROGRAM),
        str(path.absolute()),
        str(target),
    ]
    done = run_uv(
        [*words, *program],
        cwd=target.parent,
        variables={"UV_OFFLINE": "1"} if offline else None,
        task=task,
    )
    task.update(alert="")
    if done.ok and target.is_file():
        return
    if "Traceback" in done.err:
        raise UsageError(
            f"inspect_ai cannot read {path}: {done.last_lines(1)}",
            hint="try `inspect log dump` of the release that wrote it; prime reads it with the "
            "newest one that your package index has",
        )
    raise network_failure(done, offline=offline) or ResolveFailed(
        f"inspect_ai, which reads {path.name}, cannot be installed: {reason_of_failure(done)}",
        hint=f"your package index needs {_REQUIREMENT}",
        detail=done.last_lines(),
    )


class _Counts:
    """What one pass over the samples finds, before rows are made of them."""

    def __init__(self, log: Mapping[str, Any], samples: Iterator[dict[str, Any]]) -> None:
        self._log = log
        dataset = log["eval"].get("dataset", {})
        ids = list(dataset.get("sample_ids") or ())
        self.names: dict[str, None] = {}
        self.samples, self.scored = 0, Counter[str]()
        self.media = self.errors = 0
        for sample in samples:
            self.samples += 1
            ids.append(sample["id"])
            found = _scores(sample)
            if "error" not in sample:
                self.scored.update(name for name, value in found.items() if value is not None)
            self.names.update(dict.fromkeys(found))
            self.media += any(_has_media(each) for each in sample.get("messages", ()))
            self.errors += "error" in sample
        every = list(dict.fromkeys(map(_key, ({"id": each} for each in ids))))
        whole = all(type(each) is int for each in ids)
        self.numbers = {
            key: example_number(int(key)) if whole else n for n, key in enumerate(every)
        }
        declared = [each["name"] for each in log["eval"].get("scorers") or ()]
        first = [name for own in declared for name in self.names if name.split(".")[0] == own]
        self.names = dict.fromkeys([*first, *self.names])

    def reward(self, scorer: str | None) -> str | None:
        """The name of the score that is the reward; None if there is no score at all."""
        if scorer is not None and scorer not in self.names:
            raise UsageError(
                f"The log has no score `{scorer}`",
                hint=f"choose one with `--scorer`: {', '.join(self.names) or 'it has none'}",
            )
        return scorer or next(iter(self.names), None)

    def notes(self, reward: str | None, scorer: str | None) -> Iterator[str]:
        """What a reader must know."""
        if len(self.names) > 1:
            others = join_words([f"`{name}`" for name in self.names if name != reward])
            why = "as chosen" if scorer else "the first score; choose another with `--scorer`"
            yield f"the reward is `{reward}`, {why}; {others} are metrics"
        if self.errors:
            yield f"{pluralize(self.errors, 'sample')} ended in an error"
        unscored = self.samples - self.errors - (self.scored[reward] if reward else 0)
        if unscored > 0:
            yield f"{pluralize(unscored, 'sample')} without a number as score count as errors"
        config, status = self._log["eval"].get("config", {}), self._log.get("status")
        planned = len(self._log["eval"].get("dataset", {}).get("sample_ids") or ())
        missing = planned * (config.get("epochs") or 1) - self.samples
        if missing > 0 or status != "success":
            yield f"the evaluation ended as `{status}`; {max(missing, 0):,} samples are not there"
        if self.media:
            yield f"{pluralize(self.media, 'sample')} with images or other media: shown as no text"
        reducers = [name for name in config.get("epochs_reducer") or () if name != "mean"]
        if reducers:
            yield f"epochs were reduced by {', '.join(reducers)}; here each is a rollout"


def _key(sample: Mapping[str, Any]) -> str:
    return str(sample["id"])


def _told(log: Mapping[str, Any]) -> dict[str, Any]:
    """What metadata.json says of the run."""
    told, config = log["eval"], log["eval"].get("config", {})
    return {
        "env_id": told["task"],
        "env_args": told.get("task_args", {}),
        "model": told["model"],
        "base_url": told.get("model_base_url"),
        "num_examples": len(told.get("dataset", {}).get("sample_ids") or ()) or None,
        "rollouts_per_example": config.get("epochs") or 1,
        "sampling_args": told.get("model_generate_config", {}),
        "date": told["created"],
        "version_info": {"env_version": str(told.get("task_version", ""))},
        "framework": "inspect_ai",
    }


def _scores(sample: Mapping[str, Any]) -> dict[str, float | None]:
    """The number of each score; those of one with several values are `NAME.KEY`."""
    found: dict[str, float | None] = {}
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value")
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(parts, dict):
            found |= {f"{name}.{key}": _number(each) for key, each in parts.items()}
        else:
            found[name] = _number(value)
    return found


def _number(value: Any) -> float | None:
    """As `value_to_float` of inspect_ai, which has 0 for what is none."""
    if isinstance(value, str):
        value = _LETTERS.get(value, _WORDS.get(value.lower(), value))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None


def _row(sample: Mapping[str, Any], example: int, reward: str | None) -> Row:
    scores, output = _scores(sample), sample.get("output", {})
    value, failure = scores.get(reward or ""), _failure(sample)
    if failure is None and value is None:
        failure = without_score(f"the log has no number as score `{reward}`")
    messages = [_message(each) for each in sample.get("messages", ())]
    start = next((n for n, each in enumerate(sample.get("messages", ())) if _answers(each)), None)
    stop = next((each.get("stop_reason") for each in output.get("choices", ())), None)
    limit = (sample.get("limit") or {}).get("type")
    usage = (sample.get("model_usage") or {}).get(output.get("model"))
    return Row(
        example_id=example,
        rollout=sample["epoch"] - 1,
        attempt=1 + len(sample.get("error_retries") or ()),
        reward=None if failure else value,
        metrics={name: each for name, each in scores.items() if name != reward},
        prompt=messages[:start],
        completion=[] if start is None else messages[start:],
        answer=sample.get("target"),
        info={"sample_id": sample["id"], **(sample.get("metadata") or {})},
        error=failure,
        timing={name: sample[name] for name in ("total_time", "working_time") if name in sample},
        usage=usage and {"input": usage["input_tokens"], "output": usage["output_tokens"]},
        stop_condition=f"limit of {limit}" if limit else stop,
        is_truncated=stop in ("max_tokens", "model_length"),
    )


def _failure(sample: Mapping[str, Any]) -> Failure | None:
    error = sample.get("error")
    if error is None:
        return None
    kind, _, _ = str(error.get("message", "")).partition("(")
    named = kind if kind.isidentifier() else "Error"
    return Failure(
        "environment", named, str(error.get("message")), traceback=error.get("traceback")
    )


def _answers(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant" and message.get("source") != "input"


def _has_media(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(each["type"] not in _TEXTS for each in content)


_TEXTS = ("text", "reasoning")


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as OpenAI's chat has it; parts that are no texts stay as they are."""
    content, kept = message.get("content"), {"role": message["role"]}
    if isinstance(content, list):
        thought = [each["reasoning"] for each in content if each["type"] == "reasoning"]
        if thought:
            kept["reasoning_content"] = "\n".join(thought)
        content = [_part(each) for each in content if each["type"] != "reasoning"]
    kept["content"] = content
    if message.get("tool_calls"):
        kept["tool_calls"] = [_call(each) for each in message["tool_calls"]]
    kept |= {name: message[name] for name in ("tool_call_id", "error") if name in message}
    return kept


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] != "image":
        return part if part["type"] != "text" else {"type": "text", "text": part["text"]}
    return {"type": "image_url", "image_url": {"url": part["image"]}}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call["function"], "arguments": json.dumps(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}
