"""Inference services known by name (`-p`) or by the names of their models (`-m`); keys."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

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
        return "EndpointSecret(…)"

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

    def is_set(self, environ: Mapping[str, str]) -> bool:
        """Whether the variable has the key."""
        return bool(self.variable and environ.get(self.variable, "").strip())

    def find(self, environ: Mapping[str, str]) -> EndpointSecret | None:
        """The key that is set, or None; an empty variable counts as unset."""
        value = environ.get(self.variable, "").strip() if self.variable else None
        return EndpointSecret(value) if value else self.literal


def is_variable_name(text: str) -> bool:
    """Whether `text` can name an environment variable (a pasted key seldom does)."""
    return _VARIABLE.fullmatch(text) is not None


AUTHORIZATION = "Authorization"
"""The header that holds a key, as `Bearer KEY`; other headers hold the bare key."""


@dataclass(frozen=True)
class ModelProvider:
    """An OpenAI-compatible service: base URL, and the variable that holds its key.

    `models` are prefixes of the names of its models: one that ends in `/` is no part of the name
    that is sent (`groq/llama-3.3-70b` is llama-3.3-70b there), the others are. `sent` writes that
    name where the service wants more. `whole` are names that only look as if they had a prefix.
    """

    name: str
    url: str
    key_var: str
    models: tuple[str, ...] = ()
    sent: str = "{}"
    whole: tuple[str, ...] = ()
    also_key_var: str | None = None
    needs_key: bool = True

    def sent_as(self, model: str) -> str:
        """The name of `model` in calls to this service."""
        if model in self.whole:
            return model
        for prefix in self.models:
            if prefix.endswith("/") and model.startswith(prefix):
                name = model.removeprefix(prefix)
                return name if "/" in name else self.sent.format(name)
        return model

    def find_key_var(self, environ: Mapping[str, str]) -> str:
        """The variable of its key, the other one that is usual if only that is set."""
        other = self.also_key_var
        return (
            other
            if other and environ.get(other) and not environ.get(self.key_var)
            else (self.key_var)
        )


OPENAI = ModelProvider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", ("openai/",))
AZURE = ModelProvider("azure", "", "AZURE_OPENAI_API_KEY", ("azure/",))
"""Its address is that of an account: see `azure_address`."""

# fmt: off
_PROVIDERS = {provider.name: provider for provider in (
    OPENAI,
    ModelProvider("prime", "https://api.pinference.ai/api/v1", "PRIME_API_KEY"),
    # OpenRouter's own models (`openrouter/auto`) have its name as their owner's.
    ModelProvider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
             ("openrouter/",), sent="openrouter/{}"),
    # Anthropic serves OpenAI's format under /v1; the gateway speaks only that one.
    ModelProvider("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY",
             ("claude-", "anthropic/")),
    ModelProvider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai",
             "GEMINI_API_KEY", ("gemini-", "gemini/"), also_key_var="GOOGLE_API_KEY"),
    ModelProvider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY",
             ("mistral-", "ministral-", "magistral-", "codestral-", "devstral-", "pixtral-",
              "open-mistral-", "open-mixtral-", "mistral/")),
    ModelProvider("xai", "https://api.x.ai/v1", "XAI_API_KEY", ("grok-", "xai/")),
    ModelProvider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY",
             ("groq/",), whole=("groq/compound", "groq/compound-mini")),
    ModelProvider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", ("together/",)),
    ModelProvider("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY",
             ("fireworks/",), sent="accounts/fireworks/models/{}"),
    ModelProvider("minimax", "https://api.minimax.chat/v1", "MINIMAX_API_KEY"),
    ModelProvider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY",
             ("deepseek-", "deepseek/")),
    ModelProvider("glm", "https://open.bigmodel.cn/api/paas/v4", "GLM_API_KEY"),
    AZURE,
    ModelProvider("local", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
    ModelProvider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", needs_key=False),
)}
# fmt: on
_BY_HOST = {urlsplit(known.url).hostname: known for known in _PROVIDERS.values() if known.needs_key}
_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_PROXY = "a proxy such as LiteLLM serves it: pass the proxy's URL with `-b URL`"

_FOREIGN_MODELS = {
    "Amazon Bedrock": re.compile(
        r"bedrock/|((us|eu|apac|global)\.)?(ai21|amazon|anthropic|cohere|deepseek|meta|mistral)\.\w"
    ),
    "Google Vertex AI": re.compile(r"vertex(_ai)?/"),
    "Amazon SageMaker": re.compile(r"sagemaker(_chat)?/"),
}
"""Models of services with an API of their own, by names as LiteLLM or the service itself has."""


def find_provider(name: str) -> ModelProvider:
    """The provider called `name`; raises UsageError that lists the known ones."""
    provider = _PROVIDERS.get(name.lower())
    if provider is None:
        raise UsageError(
            f"`{name}` is not a known provider",
            hint=f"choose one of {', '.join(_PROVIDERS)}, or pass its URL with `-b URL`",
        )
    return provider


def provider_of_model(model: str) -> ModelProvider | None:
    """The service that `model` is known to belong to by its name, if any.

    Names with an owner (`deepseek-ai/DeepSeek-V3`) are those of weights, which many serve. Raises
    UsageError for the models of a service without an OpenAI-compatible API.
    """
    for service, names in _FOREIGN_MODELS.items():
        if names.match(model):
            raise UsageError(
                f"`{model}` is a model of {service}, whose own API prime does not use", hint=_PROXY
            )
    for provider in _PROVIDERS.values():
        for prefix in provider.models:
            if model.startswith(prefix) and (prefix.endswith("/") or "/" not in model):
                return provider
    return None


def provider_at(url: str) -> ModelProvider | None:
    """The known service with a key that is at `url`."""
    host = urlsplit(url).hostname or ""
    return AZURE if host.endswith(_AZURE_HOSTS) else _BY_HOST.get(host)


def is_hosted(url: str) -> bool:
    """Whether `url` is a known service that requires a key; Azure takes other credentials too."""
    return provider_at(url) not in (None, AZURE)


def refuse_native(url: str) -> None:
    """Raise UsageError if `url` is that of an API other than OpenAI's, told by host and path."""
    parts = urlsplit(url)
    host, path = parts.hostname or "", parts.path
    known, hint = None, _PROXY
    if host.startswith("bedrock-runtime.") and not path.startswith("/openai"):
        known = "Amazon Bedrock's own API"
    elif host.endswith("aiplatform.googleapis.com") and "/openapi" not in path:
        known = "Google Vertex AI's own API"
    elif host == "generativelanguage.googleapis.com" and "/openai" not in path:
        known, hint = "Gemini's own API", f"use `-b {_PROVIDERS['gemini'].url}`"
    elif host == "api.anthropic.com" and path.endswith("/messages"):
        known, hint = "Anthropic's own API", f"use `-b {_PROVIDERS['anthropic'].url}`"
    if known:
        raise UsageError(f"{url} is {known}, which prime does not use", hint=hint)


# --- Azure OpenAI ---


def azure_address(base: str | None, deployment: str, environ: Mapping[str, str]) -> str:
    """The base URL for calls to a `deployment`, with its query.

    `base` is the account's address, else AZURE_OPENAI_ENDPOINT is; one that has a path of the API
    is taken as it is. With OPENAI_API_VERSION (or AZURE_OPENAI_API_VERSION) calls go to the
    deployment's own path with that `api-version`, else to `/openai/v1`, which needs none. Raises
    UsageError without an address, or where a deployment's path lacks its version.
    """
    account = base or environ.get("AZURE_OPENAI_ENDPOINT", "").strip()
    if not account:
        raise UsageError(
            "AZURE_OPENAI_ENDPOINT is not set",
            hint="`export AZURE_OPENAI_ENDPOINT=https://NAME.openai.azure.com`",
        )
    parts = urlsplit(account)
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    names = ("OPENAI_API_VERSION", "AZURE_OPENAI_API_VERSION")
    version = next((environ[name] for name in names if environ.get(name)), None)
    query = parts.query or (f"api-version={version}" if version else "")
    if path in ("", "/openai"):
        path = f"/openai/deployments/{quote(deployment)}" if query else "/openai/v1"
    elif "/deployments/" in path and "api-version=" not in query:
        raise UsageError(
            f"{account} needs an api-version",
            hint="`export OPENAI_API_VERSION=2024-10-21`, or add `?api-version=2024-10-21` to it",
        )
    elif path.endswith("/v1"):
        query = parts.query
    return urlunsplit((parts.scheme, parts.netloc, path, query, ""))
