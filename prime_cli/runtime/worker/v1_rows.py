"""A finished v1 episode as the fields of a row."""

import re
from typing import Any

from . import failures, rows
from .jsonable import number, plain

# The class in the gateway's error body, which verifiers quotes in its sentence.
BLAMED = re.compile(r'"class": ?"(\w+)"')
INFRA = {"SandboxError", "TunnelError", "InterceptionError", "HarnessError"}


def known_of(episode: Any) -> dict[str, Any]:
    """Reward, metrics, messages and costs of an episode, of its trained agent first.

    The reward is that of upstream's dashboard: the mean over the agents that train and did not
    fail. With several agents, each has its `reward` among the metrics.
    """
    traces = list(episode.traces)
    if not traces:
        return {}
    trained = [trace for trace in traces if trace.agent.trainable] or traces
    prompt, completion = _conversation(trained[0])
    counted = [trace for trace in trained if not getattr(trace, "has_error", False)] or trained
    found = {
        "reward": sum(float(trace.reward) for trace in counted) / len(counted),
        "metrics": _metrics(trained[0]) if len(traces) == 1 else _by_agent(traces, trained),
        "completion": completion,
        "timing": rows.seconds(trained[0].timing.model_dump()),
        "usage": _usage(traces),
        "stop_condition": trained[0].stop_condition,
        "is_truncated": any(_was_cut(trace) for trace in traces),
        "state": rows.trace_extras(trained[0]),
    }
    if prompt:
        found["prompt"] = prompt
    return found


def error_of(episode: Any) -> dict[str, Any]:
    """The last error of an episode or of its traces as a row's `error`."""
    errors = [error for trace in episode.traces for error in trace.errors] + list(episode.errors)
    if not errors:
        return failures.describe(RuntimeError("the episode did not complete"))
    error = errors[-1]
    kind, retryable = _classify(error)
    return {
        "class": kind,
        "type": error.type[: failures.MOST_OF_A_NAME],
        "message": failures.shorten(error.message),
        "retryable": retryable,
        "traceback": failures.cut_traceback(error.traceback or "") or None,
        "in_scoring": failed_in_scoring(episode),
    }


def failed_in_scoring(episode: Any) -> bool:
    """Whether scoring failed after the conversation of the only agent had ended."""
    traces = list(episode.traces)
    return len(traces) == 1 and any(
        getattr(getattr(traces[0].timing, stage, None), "start", None)
        for stage in ("finalize", "scoring")
    )


def stopped_scoring(episode: Any) -> bool:
    """Whether the environment's own deadline ended the scoring: 0.4 calls that complete."""
    return any(trace.stop_condition == "scoring_timeout" for trace in episode.traces)


def _classify(error: Any) -> failures.Verdict:
    if error.type == "ProviderError":
        blamed = BLAMED.search(error.message)
        return failures.by_status(_status(error), blamed and blamed[1])
    return ("infra", True) if error.type in INFRA else ("environment", False)


def _status(error: Any) -> int:
    status = getattr(error, "status_code", None)
    if status is not None:
        return int(status)
    # 0.3 has it only in the sentence: "upstream 429: ..."
    found = re.search(r"\bupstream (\d{3})\b", error.message)
    return int(found[1]) if found else 502


def _conversation(trace: Any) -> tuple[list[Any], list[Any]]:
    """(the model's initial input, all that followed) as messages."""
    found = trace.branches
    if not found:
        return [], []
    nodes = found[-1].nodes
    first = next((i for i, node in enumerate(nodes) if node.sampled), len(nodes))
    messages = [plain(node.message) for node in nodes]
    return messages[:first], messages[first:]


def _metrics(trace: Any) -> dict[str, float | None]:
    # A reward that was never computed, because another one raised, is None.
    scores = {name: number(getattr(r, "score", None)) for name, r in trace.rewards.items()}
    return {**scores, **{name: number(value) for name, value in trace.metrics.items()}}


def _by_agent(traces: list[Any], trained: list[Any]) -> dict[str, float | None]:
    """Metrics and `reward` of each agent, as `name/metric`; agents with the same name are numbered.

    The metrics of the only agent that trains keep their names. For agents with the same name,
    `name/reward` is the mean.
    """
    found: dict[str, float | None] = {}
    of_a_name: dict[str, list[Any]] = {}
    for trace in traces:
        of_a_name.setdefault(str(trace.agent.name), []).append(trace)
    for name, own in of_a_name.items():
        for position, trace in enumerate(own, start=1):
            label = name if len(own) == 1 else f"{name}#{position}"
            alone = len(trained) == 1 and trace is trained[0]
            scores = _metrics(trace)
            found.update(scores if alone else {f"{label}/{key}": scores[key] for key in scores})
            if trace.rewards:
                found[f"{label}/reward"] = float(trace.reward)
        scored = [float(trace.reward) for trace in own if trace.rewards]
        if scored:
            found[f"{name}/reward"] = sum(scored) / len(scored)
    return found


def _usage(traces: list[Any]) -> dict[str, int] | None:
    counts = [call.usage for trace in traces for call in trace.calls if call.usage is not None]
    if not counts:
        return None
    return {
        "input": sum(usage.prompt_tokens + (usage.cached_input_tokens or 0) for usage in counts),
        "output": sum(usage.completion_tokens for usage in counts),
    }


def _was_cut(trace: Any) -> bool:
    return bool(trace.is_truncated) or any(c.finish_reason == "length" for c in trace.calls)
