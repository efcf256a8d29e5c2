"""Inference services known by name (`-p`), as `vf-eval` of verifiers 0.1.14 spells them."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from prime_cli.core.errors import UsageError


@dataclass(frozen=True)
class Provider:
    """An OpenAI-compatible service: base URL, and the variable that holds its key."""

    name: str
    url: str
    key_var: str
    needs_key: bool = True


OPENAI = Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")

_PROVIDERS = {
    provider.name: provider
    for provider in (
        OPENAI,
        Provider("prime", "https://api.pinference.ai/api/v1", "PRIME_API_KEY"),
        Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        # Anthropic serves the OpenAI shape under /v1; the gateway speaks only that one.
        Provider("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        Provider("minimax", "https://api.minimax.chat/v1", "MINIMAX_API_KEY"),
        Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
        Provider("glm", "https://open.bigmodel.cn/api/paas/v4", "GLM_API_KEY"),
        Provider("local", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
        Provider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
    )
}
_HOSTED = {urlsplit(known.url).hostname for known in _PROVIDERS.values() if known.needs_key}


def find_provider(name: str) -> Provider:
    """The provider called `name`; raises UsageError that lists the known ones."""
    provider = _PROVIDERS.get(name.lower())
    if provider is None:
        raise UsageError(
            f"`{name}` is not a known provider",
            hint=f"choose one of {', '.join(_PROVIDERS)}, or give its address with `-b URL`",
        )
    return provider


def is_hosted(url: str) -> bool:
    """Whether `url` is a known service that answers nobody without a key."""
    return urlsplit(url).hostname in _HOSTED
