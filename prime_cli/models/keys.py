"""API keys: where they are named, and how they travel without being printed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

EMPTY = "EMPTY"
"""What servers without authentication (vLLM, llama.cpp, Ollama) are sent by convention."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Secret:
    """A value that is sent to one endpoint and shown to nobody."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the Authorization header and for scrubbing it from files."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True)
class KeySource:
    """Where a key comes from: an environment variable, else the value written down."""

    variable: str | None = None
    literal: Secret | None = None

    @classmethod
    def parse(cls, text: str) -> "KeySource":
        """Read a registry's `key`: a variable's name, the word EMPTY, or the key itself."""
        if text == EMPTY or not _VARIABLE.fullmatch(text):
            return cls(literal=Secret(text))
        return cls(variable=text)

    def find(self, environ: Mapping[str, str]) -> Secret | None:
        """The key that is set, or None; an empty variable counts as unset."""
        value = environ.get(self.variable, "").strip() if self.variable else None
        return Secret(value) if value else self.literal


def is_variable_name(text: str) -> bool:
    """Whether `text` can name an environment variable (a pasted key seldom does)."""
    return _VARIABLE.fullmatch(text) is not None
