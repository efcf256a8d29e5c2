"""The policy's client: `AsyncOpenAI` whose every call goes to the run's gateway."""

from typing import Any

from .spec import Spec
from .transport import loopback_transport

TIMEOUT_S = 24 * 3600.0  # the gateway gives up before, and knows what it waited for


def policy_client(spec: Spec) -> Any:
    """An AsyncOpenAI client for the gateway; its calls carry the role `policy`."""
    from openai import AsyncOpenAI

    http = loopback_client()
    http.prime_role = "policy"
    return AsyncOpenAI(
        base_url=spec.base_url,
        api_key=spec.token,
        http_client=http,
        max_retries=spec.call_retries,
    )


def loopback_client() -> Any:
    """An AsyncClient of httpx or httpx2, whichever openai itself uses, for plain loopback HTTP."""
    from openai import _base_client

    used = vars(_base_client)
    httpx = used.get("httpx2") or used["httpx"]
    return httpx.AsyncClient(
        transport=loopback_transport(httpx),
        timeout=httpx.Timeout(TIMEOUT_S, connect=30.0),
        trust_env=False,
    )


def wrapped_for_verifiers(client: Any, environment: Any, spec: Spec) -> Any:
    """The same as `verifiers.clients.Client`, which 0.1.11 and later want; else unchanged."""
    try:
        from verifiers import clients
    except ImportError:
        return client
    completion = getattr(environment, "message_type", "chat") == "completion"
    name = "OpenAICompletionsClient" if completion else "OpenAIChatCompletionsClient"
    wrapper = getattr(clients, name, None)
    if wrapper is None:
        return client
    wrapped = wrapper(client)
    if getattr(wrapped, "_config", None) is None:
        wrapped._config = _config(spec)  # noqa: SLF001 - some environments read it
    return wrapped


def _config(spec: Spec) -> Any:
    from verifiers.types import ClientConfig

    return ClientConfig(api_key_var="OPENAI_API_KEY", api_base_url=spec.base_url)
