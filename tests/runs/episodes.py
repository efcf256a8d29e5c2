"""Lines of a traces.jsonl, in the shape that the evaluator of verifiers 0.4.0 writes."""

import json
from pathlib import Path
from typing import Any

ID = "echo-tasks--org--mock--null--45cedbc2"

CONFIG = {
    "env": {
        "taskset": {"id": "echo-tasks", "task": {"judges": []}, "system_prompt": None, "count": 4},
        "agent": {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}},
    },
    "model": "org/mock",
    "client": {"base_url": "http://127.0.0.1:8000/v1", "api_key_var": "OPENAI_API_KEY"},
    "sampling": {"temperature": None, "max_tokens": 16},
    "select": {"limit": 2, "shuffle": False},
    "num_rollouts": 2,
}


def task(index: int | None, key: str = "") -> dict[str, Any]:
    data = {"prompt": f"say word{index}", "answer": f"word{index}", "trouble": ""}
    return {
        "type": "EchoTask",
        "data": data if index is None else {"idx": index, **data},
        "key": key or f"key{index}",
    }


def node(role: str, content: str, *, parent: int | None = None) -> dict[str, Any]:
    own = {"message": {"role": role, "content": content}, "sampled": role == "assistant"}
    return own if parent is None else {"parent": parent, **own}


def trace(of: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What one agent did: it was asked, and answered."""
    return {
        "version": 1,
        "verifiers": {"version": "0.4.0"},
        "task": of,
        "agent": {"name": "agent", "trainable": True},
        "nodes": [node("user", "say it"), node("assistant", "it", parent=0)],
        "calls": [
            {
                "node": 1,
                "finish_reason": "stop",
                "usage": {"prompt_tokens": 2, "completion_tokens": 3, "cached_input_tokens": 1},
            }
        ],
        "rewards": {"correct": {"score": 1.0, "weight": 2.0}, "kind": {"score": 0.5}},
        "metrics": {"length": 9.0},
        "stop_condition": "agent_completed",
        "ok": True,
        "errors": [],
        "timing": {"start": 1.0, "agent": {"start": 1.0, "end": 3.5}, "scoring": {"end": 0.0}},
        **changes,
    }


def episode(index: int | None, *traces: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """One attempt at a task, by one agent unless told otherwise."""
    of = task(index)
    return {
        "id": "e",
        "env": {"id": "echo-tasks"},
        "task": of,
        "ok": True,
        "errors": [],
        "traces": list(traces or (trace(of),)),
        **changes,
    }


def save_traces(cwd: Path, *lines: dict[str, Any], name: str = ID) -> Path:
    """The folder of a run below `cwd`, as the evaluator makes it."""
    folder = cwd / "outputs" / name
    (folder / "configs" / "resolved").mkdir(parents=True)
    config = folder / "configs" / "resolved" / "eval.json"
    config.write_text(json.dumps(CONFIG), encoding="utf-8")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "traces.jsonl").write_text(text, encoding="utf-8")
    return folder
