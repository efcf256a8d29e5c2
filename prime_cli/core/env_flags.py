"""Environment variables that are on or off, as other tools read them."""

import os
from collections.abc import Mapping

_OFF = frozenset({"", "0", "false", "no", "off"})


def is_on(name: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the variable `name` is set to anything but a word for no."""
    return environ.get(name, "").strip().lower() not in _OFF


def in_ci(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this is an unattended job, even if it has a terminal."""
    return is_on("CI", environ)


AGENT_VARIABLES = (
    "AI_AGENT",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "AUGMENT_AGENT",
)
"""What coding agents set for the commands that they run: the proposed name, then their own."""


def find_agent(environ: Mapping[str, str] = os.environ) -> str | None:
    """The variable by which a coding agent says that it types; None where a person does."""
    return next((name for name in AGENT_VARIABLES if is_on(name, environ)), None)


def is_unattended(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether nobody looks at bars or answers questions."""
    return in_ci(environ) or find_agent(environ) is not None
