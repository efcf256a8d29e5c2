"""The judges that a loaded environment declares, as v0's `JudgeRubric` or v1's `JudgeConfig`.

Prompts may be long or private, so only digests of them leave the worker. Of judges that are code of
the environment nothing is told: its wheel stands for them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .jsonable import plain

DECLARED = {"JudgeConfig", "JudgeTaskConfig"}
"""Classes of v1, of which the second is that of agents that judge."""


def judges_of_rubrics(rubrics: Iterable[Any]) -> list[dict[str, str]]:
    """Those of v0: every rubric with a `judge_model`."""
    return [
        _told(
            rubric.judge_model,
            getattr(rubric, "judge_prompt", None),
            getattr(rubric, "judge_sampling_args", None),
        )
        for rubric in rubrics
        if hasattr(rubric, "judge_model")
    ]


def judges_of_config(config: Any) -> list[dict[str, str]]:
    """Those of v1 within the config of an environment; a prompt is the files that it is in."""
    return [
        _told(
            getattr(each, "model", ""),
            [path.read_text(encoding="utf-8", errors="replace") for path in _files(each)],
            getattr(each, "sampling", None),
        )
        for each in _within(config)
        if DECLARED & {cls.__name__ for cls in type(each).__mro__}
    ]


def _told(model: Any, prompt: Any, sampling: Any) -> dict[str, str]:
    return {"model": str(model), "prompt": _digest(prompt), "sampling": _digest(sampling)}


def _digest(value: Any) -> str:
    dumped = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    return hashlib.sha256(json.dumps(plain(dumped), sort_keys=True).encode()).hexdigest()


def _files(config: Any) -> list[Path]:
    return [each for each in _within(config) if isinstance(each, Path) and each.is_file()]


def _within(value: Any) -> Iterator[Any]:
    """`value`, and all that it is made of."""
    yield value
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple):
        inner = value
    elif hasattr(type(value), "model_fields"):
        inner = [getattr(value, name) for name in type(value).model_fields]
    for each in inner:
        yield from _within(each)
