"""Defaults that an environment declares for its evaluation: `[tool.verifiers.eval]`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.archive.wheels import open_wheel
from prime_cli.envs.pyproject import FILENAME

_LARGEST = 1_000_000
"""Bytes of a pyproject.toml that are read out of a wheel."""


@dataclass(frozen=True)
class EvalDefaults:
    """What `[tool.verifiers.eval]` says; `num_examples` -1 means all of them."""

    num_examples: int | None = None
    rollouts_per_example: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None


def defaults_from(table: Mapping[str, Any]) -> EvalDefaults:
    """EvalDefaults of a `[tool.verifiers.eval]` table; values of the wrong type are ignored."""
    return EvalDefaults(
        num_examples=_whole(table.get("num_examples")),
        rollouts_per_example=_whole(table.get("rollouts_per_example")),
        max_tokens=_whole(table.get("max_tokens")),
        temperature=_number(table.get("temperature")),
    )


def defaults_in(pyproject: str) -> EvalDefaults:
    """The defaults in the text of a pyproject.toml; none when it is not TOML."""
    return defaults_from(_eval_table(pyproject))


def defaults_in_wheel(wheel: Path, module: str) -> EvalDefaults:
    """The defaults in the pyproject.toml that a wheel carries, as verifiers 0.1.14 looks for it.

    That is in the package's own folder, else in the root of site-packages.
    """
    with open_wheel(wheel) as opened:
        for name in (f"{module}/{FILENAME}", FILENAME):
            info = opened.members.get(name)
            if info is not None and info.file_size <= _LARGEST:
                return defaults_in((opened.read(name) or b"").decode("utf-8", errors="replace"))
    return EvalDefaults()


def _eval_table(text: str) -> Mapping[str, Any]:
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    for key in ("tool", "verifiers", "eval"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
