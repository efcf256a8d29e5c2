"""What the name of a model tells: where it is served, with which key, under which name."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import NotLoggedIn, Unreachable, UsageError
from prime_cli.models.endpoint_resolution import resolve_endpoint
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.upstream import authorized
from prime_cli.models.preflight import check_endpoint
from prime_cli.models.providers import EndpointSecret, KeySource, provider_of_model
from prime_cli.models.registry import Registry, RegistryEntry
from tests.helpers.gateway_client import run
from tests.helpers.scripted_model import ScriptedModel

DOCS = (Path(__file__).parents[2] / "docs" / "evaluations.md").read_text("utf-8")
NAMED = [
    ("claude-sonnet-4-5", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", None),
    ("anthropic/claude-x", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "claude-x"),
    (
        "gemini-2.5-flash",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        None,
    ),
    ("deepseek-chat", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", None),
    ("mistral-large-latest", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", None),
    ("grok-4", "https://api.x.ai/v1", "XAI_API_KEY", None),
    ("openrouter/qwen/qwen3", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "qwen/qwen3"),
    ("openrouter/auto", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", None),
    ("groq/llama-3.3-70b", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "llama-3.3-70b"),
    ("groq/openai/gpt-oss", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss"),
    ("groq/compound", "https://api.groq.com/openai/v1", "GROQ_API_KEY", None),
    ("together/Qwen/Q3", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "Qwen/Q3"),
    (
        "fireworks/qwen3-8b",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        "accounts/fireworks/models/qwen3-8b",
    ),
    ("openai/gpt-4.1", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4.1"),
]


def find(model: str, *, base_url: str | None = None, **environ: str) -> Endpoint:
    return resolve_endpoint(model, base_url, None, Registry(), environ)


def key_of(endpoint: Endpoint) -> str:
    assert endpoint.key is not None
    return endpoint.key.reveal()


@pytest.mark.parametrize(("model", "url", "variable", "sent"), NAMED)
def test_a_models_name_shows_address_key_and_the_name_that_is_sent(
    model: str, url: str, variable: str, sent: str | None
) -> None:
    endpoint = find(model, **{variable: "sk-its", "OPENAI_API_KEY": "sk-its"})
    assert (endpoint.url, endpoint.model) == (url, sent or model)
    assert key_of(endpoint) == "sk-its"
    assert endpoint.key_var == variable
    # Never silently: the address and the variable are said.
    assert url in str(endpoint.said)
    assert variable in str(endpoint.said)


@pytest.mark.parametrize(("model", "variable"), [(row[0], row[2]) for row in NAMED])
def test_a_missing_key_is_named_by_the_services_own_variable(model: str, variable: str) -> None:
    others = {} if variable == "OPENAI_API_KEY" else {"OPENAI_API_KEY": "sk-of-openai"}
    with pytest.raises(NotLoggedIn, match=f"{variable} is not set"):
        find(model, **others)


@pytest.mark.parametrize("model", ["gpt-4.1", "deepseek-ai/DeepSeek-V3", "mistralai/Mistral-7B"])
def test_other_names_reveal_nothing(model: str) -> None:
    assert provider_of_model(model) is None
    assert find(model, OPENAI_API_KEY="k").url == "https://api.openai.com/v1"


def test_what_is_explicit_wins_over_the_name() -> None:
    local = "http://localhost:4000/v1"
    environ = {"OPENAI_BASE_URL": local, "ANTHROPIC_API_KEY": "sk-ant"}
    for endpoint in (
        find("claude-x", base_url=local, ANTHROPIC_API_KEY="sk-ant"),
        find("claude-x", **environ),
        find("bedrock/claude-x", **environ),
    ):
        assert endpoint.url == local
        assert key_of(endpoint) == "EMPTY"
    entry = RegistryEntry("claude-x", "claude-x", local, KeySource(literal=EndpointSecret("mine")))
    found = resolve_endpoint("claude-x", None, None, Registry(entries=(entry,)), environ)
    assert (found.url, key_of(found)) == (local, "mine")


def test_openais_own_base_url_in_the_environment_changes_nothing_for_others() -> None:
    environ = {"OPENAI_BASE_URL": "https://api.openai.com/v1", "ANTHROPIC_API_KEY": "sk-ant"}
    assert find("claude-x", **environ).url == "https://api.anthropic.com/v1"


def test_the_key_of_a_services_address_is_its_own_before_openais() -> None:
    groq = "https://api.groq.com/openai/v1"
    both = {"GROQ_API_KEY": "gsk", "OPENAI_API_KEY": "sk-open"}
    assert key_of(find("m", base_url=groq, **both)) == "gsk"
    only = find("m", base_url=groq, OPENAI_API_KEY="sk-open")
    assert key_of(only) == "sk-open"
    assert "GROQ_API_KEY is not set, so the key in OPENAI_API_KEY is sent" in str(only.said)


def test_geminis_key_may_have_googles_name() -> None:
    assert key_of(find("gemini-2.5-flash", GOOGLE_API_KEY="g")) == "g"
    assert key_of(find("gemini-2.5-flash", GOOGLE_API_KEY="g", GEMINI_API_KEY="own")) == "own"


@pytest.mark.parametrize(
    ("model", "service"),
    [
        ("bedrock/anthropic.claude-3-haiku", "Amazon Bedrock"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "Amazon Bedrock"),
        ("amazon.nova-pro-v1:0", "Amazon Bedrock"),
        ("vertex_ai/gemini-2.5-pro", "Google Vertex AI"),
        ("sagemaker/my-endpoint", "Amazon SageMaker"),
    ],
)
def test_services_with_another_api_are_refused_with_a_proxy_to_use(
    model: str, service: str
) -> None:
    with pytest.raises(UsageError, match=service) as caught:
        find(model, OPENAI_API_KEY="k")
    assert "LiteLLM" in str(caught.value.hint)


@pytest.mark.parametrize(
    "url",
    [
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        "https://generativelanguage.googleapis.com/v1beta",
        "https://api.anthropic.com/v1/messages",
        "https://us-central1-aiplatform.googleapis.com/v1/projects/p",
    ],
)
def test_addresses_of_other_apis_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="own API"):
        find("m", base_url=url, OPENAI_API_KEY="k")


@given(st.text(max_size=40))
def test_names_change_only_by_a_known_prefix(name: str) -> None:
    try:
        known = provider_of_model(name)
    except UsageError:
        return
    if known is None:
        return
    sent = known.sent_as(name)
    assert name.endswith(sent) or sent.endswith(name.partition("/")[2])


# --- Azure ---

ACCOUNT = "https://ada.openai.azure.com"
OLD = f"{ACCOUNT}/openai/deployments/gpt?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("model", "base_url", "version", "address"),
    [
        ("azure/gpt", None, "2024-10-21", OLD),
        ("azure/gpt", None, None, f"{ACCOUNT}/openai/v1"),
        ("gpt", f"{ACCOUNT}/", "2024-10-21", OLD),
        ("gpt", f"{ACCOUNT}?api-version=2024-10-21", None, OLD),
        ("gpt", OLD.replace("?", "/chat/completions?"), None, OLD),
        ("gpt", f"{ACCOUNT}/openai/v1/", "2024-10-21", f"{ACCOUNT}/openai/v1"),
    ],
)
def test_azures_addresses_are_those_of_a_deployment(
    model: str, base_url: str | None, version: str | None, address: str
) -> None:
    environ = {"AZURE_OPENAI_ENDPOINT": ACCOUNT, "AZURE_OPENAI_API_KEY": "az"}
    if version:
        environ["OPENAI_API_VERSION"] = version
    endpoint = find(model, base_url=base_url, **environ)
    assert (endpoint.model, endpoint.address) == ("gpt", address)
    assert authorized(endpoint, {}) == {"api-key": "az"}


def test_what_azure_lacks_is_reported() -> None:
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT is not set"):
        find("azure/gpt", AZURE_OPENAI_API_KEY="az")
    with pytest.raises(NotLoggedIn, match="AZURE_OPENAI_API_KEY is not set"):
        find("azure/gpt", AZURE_OPENAI_ENDPOINT=ACCOUNT)
    with pytest.raises(UsageError, match="needs an api-version"):
        find("gpt", base_url=f"{ACCOUNT}/openai/deployments/gpt", OPENAI_API_KEY="k")


def test_a_header_of_the_users_replaces_azures_key() -> None:
    headers = {"Authorization": "Bearer of-entra"}
    environ = {"AZURE_OPENAI_ENDPOINT": ACCOUNT}
    found = resolve_endpoint("azure/gpt", None, None, Registry(), environ, headers=headers)
    assert authorized(found, {}) == headers


def test_an_azure_that_does_not_answer_is_one_of_the_variable() -> None:
    environ = {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1", "AZURE_OPENAI_API_KEY": "az"}
    with pytest.raises(Unreachable) as caught:
        run(check_endpoint(find("azure/gpt", **environ)))
    assert "the URL given by AZURE_OPENAI_ENDPOINT" in str(caught.value.hint)


def test_azure_gets_version_and_key_over_a_socket() -> None:
    with ScriptedModel(models=("gpt",)) as model:
        environ = {
            "AZURE_OPENAI_ENDPOINT": model.url.removesuffix("/v1"),
            "AZURE_OPENAI_API_KEY": "az",
            "OPENAI_API_VERSION": "2024-10-21",
        }
        run(check_endpoint(find("azure/gpt", **environ)))
        (request,) = model.requests
    assert request.path == "/openai/deployments/gpt/models?api-version=2024-10-21"
    assert request.headers["api-key"] == "az"
    assert "authorization" not in request.headers


def test_the_page_lists_every_provider_prefix_and_variable() -> None:
    section = DOCS.partition("## Models")[2].partition("\n## ")[0]
    for model, _, variable, _ in NAMED:
        service = provider_of_model(model)
        assert service is not None
        (row,) = re.findall(rf"^\| `{service.name}` .*$", section, re.MULTILINE)
        assert f"`{variable}`" in row
        assert [prefix for prefix in service.models if f"`{prefix}…`" not in row] == []
