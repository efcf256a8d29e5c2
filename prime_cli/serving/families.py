"""The parsers that a model's tool calls and thoughts need, by its family (`families.toml`)."""

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Family:
    """Models whose output has the same form; `tools` and `reasoning` are vLLM's parsers."""

    name: str
    match: str
    model_type: tuple[str, ...] = ()
    tools: str | None = None
    reasoning: str | None = None


@cache
def read_families() -> tuple[Family, ...]:
    """All families, in the order in which they are tried."""
    text = Path(__file__).with_name("families.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["family"]
    return tuple(Family(**{**row, "model_type": tuple(row.get("model_type", ()))}) for row in rows)


def find_family(model: str, folder: Path | None = None) -> Family | None:
    """The family of a model by its name, else by config.json in its `folder`; None if unknown."""
    name = re.split(r"[/\\]", model.rstrip("/\\"))[-1].lower()
    for family in read_families():
        if re.fullmatch(family.match, name):
            return family
    kind = _model_type(folder) if folder is not None else None
    return next((each for each in read_families() if kind in each.model_type), None)


def _model_type(folder: Path) -> str | None:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # the engine will say what is wrong with it
    kind = config.get("model_type") if isinstance(config, dict) else None
    return kind if isinstance(kind, str) else None
