"""Rollouts as trajectories of ATIF, Harbor's format: a JSON file each.

The format: `harbor.models.trajectories` of the package harbor. What it has no place for is in
`extra.prime`, as a line of results.jsonl without its messages; an import reads it back.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from prime_cli.core.paths import write_atomically
from prime_cli.runs.export.sft import Selection, message_of
from prime_cli.runs.export.text import as_json, as_text
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import Summary
from prime_cli.runs.vf_eval_writer import official_row
from prime_cli.runtime.worker.rows import messages as as_messages

VERSION = "ATIF-v1.6"
EMPTY, MEDIA, BRANCHES = "without a message", "images and other media", "other branches"
"""Why a rollout is left out, and what of some is not written."""
_SOURCES = {"system": "system", "developer": "system", "assistant": "agent"}


def write_trajectories(out: Path, rows: Iterable[Row], summary: Summary) -> tuple[Selection, int]:
    """Write `EXAMPLE.ROLLOUT.json` for each row into `out`; also returns their bytes."""
    dropped, lost = Counter[str](), Counter[str]()
    written = size = 0
    for row in rows:
        messages = [*_listed(row.prompt, "user"), *_listed(row.completion, "assistant")]
        if not messages:
            dropped[EMPTY] += 1
            continue
        lost.update([MEDIA] if any(message_of(each) is None for each in messages) else ())
        lost.update([BRANCHES] if row.state.get("branches") else ())
        content = as_json(_trajectory(row, messages, summary))
        write_atomically(out / f"{row.example_id}.{row.rollout}.json", content, mode=0o644)
        written, size = written + 1, size + len(content)
    return Selection(written, written, dict(dropped), lost=dict(lost)), size


def _listed(part: Any, role: str) -> list[dict[str, Any]]:
    found = as_messages(part)
    if isinstance(found, list):
        every = (each if isinstance(each, dict) else {"content": each} for each in found)
        return [{"role": role, **each} for each in every]
    return [{"role": role, "content": found}] if found else []


def _trajectory(row: Row, messages: list[dict[str, Any]], summary: Summary) -> dict[str, Any]:
    own = official_row(row)
    tools = [each for each in row.state.get("tool_defs") or () if isinstance(each, dict)]
    used = row.usage or {}
    totals = {
        "total_prompt_tokens": used.get("input"),
        "total_completion_tokens": used.get("output"),
        "total_cost_usd": row.cost,
    }
    agent = {
        "name": summary.environment.harness or "verifiers",
        "version": summary.environment.verifiers or "unknown",
        "model_name": summary.model,
        **({"tool_definitions": tools} if tools else {}),
    }
    kept = {name: own[name] for name in own if name not in ("prompt", "completion", "tool_defs")}
    return {
        "schema_version": VERSION,
        "session_id": f"{summary.run_id}-{row.example_id}.{row.rollout}",
        "agent": agent,
        "steps": _steps(messages),
        "final_metrics": {name: each for name, each in totals.items() if each is not None},
        "extra": {"environment": summary.environment.ref, "prime": kept},
    }


def _steps(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A step for each message; results of tools belong to the step that called them."""
    steps: list[dict[str, Any]] = []
    for message in messages:
        text = _text(message.get("content"))
        if message["role"] == "tool" and steps and steps[-1]["source"] == "agent":
            ids = [call["tool_call_id"] for call in steps[-1].get("tool_calls", ())]
            named = message.get("tool_call_id")
            result = {"content": text, **({"source_call_id": named} if named in ids else {})}
            steps[-1].setdefault("observation", {"results": []})["results"].append(result)
            continue
        source = _SOURCES.get(str(message["role"]), "user")
        step = {"step_id": len(steps) + 1, "source": source, "message": text}
        if source == "agent":
            step |= _of_agent(message)
        steps.append(step)
    return steps


def _of_agent(message: Mapping[str, Any]) -> dict[str, Any]:
    thought = message.get("reasoning_content")
    found: dict[str, Any] = {"reasoning_content": _text(thought)} if thought else {}
    calls = [each for each in message.get("tool_calls") or () if isinstance(each, dict)]
    if calls:
        found["tool_calls"] = [_call(each, number) for number, each in enumerate(calls)]
    return found


def _call(call: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Arguments that are no JSON object are the text of `arguments`."""
    function = call.get("function")
    told = function if isinstance(function, dict) else {}
    arguments = told.get("arguments")
    try:
        found = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        found = None
    return {
        "tool_call_id": str(call.get("id") or f"call_{number}"),
        "function_name": str(told.get("name")),
        "arguments": found if isinstance(found, dict) else {"arguments": as_text(arguments)},
    }


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return "" if content is None else as_text(content)
    parts = (each.get("text") if isinstance(each, dict) else each for each in content)
    return "\n".join(each if isinstance(each, str) else "[not text]" for each in parts)
