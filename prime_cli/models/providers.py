"""Inference services known by name (`-p`), as `vf-eval` of verifiers 0.1.14 spells them; keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from prime_cli.core.errors import UsageError

EMPTY = "EMPTY"
"""What is conventionally sent to servers without authentication (vLLM, llama.cpp, Ollama)."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EndpointSecret:
    """A value that is sent to one endpoint and never shown."""

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
        return isinstance(other, EndpointSecret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True)
class KeySource:
    """Where a key comes from: an environment variable, else the value written down."""

    variable: str | None = None
    literal: EndpointSecret | None = None

    @classmethod
    def parse(cls, text: str) -> "KeySource":
        """Read a registry's `key`: a variable's name, the word EMPTY, or the key itself."""
        if text == EMPTY or not _VARIABLE.fullmatch(text):
            return cls(literal=EndpointSecret(text))
        return cls(variable=text)

    def find(self, environ: Mapping[str, str]) -> EndpointSecret | None:
        """The key that is set, or None; an empty variable counts as unset."""
        value = environ.get(self.variable, "").strip() if self.variable else None
        return EndpointSecret(value) if value else self.literal


def is_variable_name(text: str) -> bool:
    """Whether `text` can name an environment variable (a pasted key seldom does)."""
    return _VARIABLE.fullmatch(text) is not None


@dataclass(frozen=True)
class ModelProvider:
    """An OpenAI-compatible service: base URL, and the variable that holds its key."""

    name: str
    url: str
    key_var: str
    needs_key: bool = True


OPENAI = ModelProvider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")

_PROVIDERS = {
    provider.name: provider
    for provider in (
        OPENAI,
        ModelProvider("prime", "https://api.pinference.ai/api/v1", "PRIME_API_KEY"),
        ModelProvider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        # Anthropic serves OpenAI's format under /v1; the gateway speaks only that one.
        ModelProvider("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        ModelProvider("minimax", "https://api.minimax.chat/v1", "MINIMAX_API_KEY"),
        ModelProvider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        ModelProvider("glm", "https://open.bigmodel.cn/api/paas/v4", "GLM_API_KEY"),
        ModelProvider("local", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
        ModelProvider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
    )
}
_HOSTED = {urlsplit(known.url).hostname for known in _PROVIDERS.values() if known.needs_key}


def find_provider(name: str) -> ModelProvider:
    """The provider called `name`; raises UsageError that lists the known ones."""
    provider = _PROVIDERS.get(name.lower())
    if provider is None:
        raise UsageError(
            f"`{name}` is not a known provider",
            hint=f"choose one of {', '.join(_PROVIDERS)}, or give its URL with `-b URL`",
        )
    return provider


def is_hosted(url: str) -> bool:
    """Whether `url` is a known service that requires a key."""
    return urlsplit(url).hostname in _HOSTED
