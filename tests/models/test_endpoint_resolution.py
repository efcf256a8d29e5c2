"""From flags and a registry to one endpoint, never by accident to a paid one."""

import pytest

from prime_cli.core.errors import NotFound, NotLoggedIn, Offline, UsageError
from prime_cli.models.endpoint_resolution import parse_headers, resolve_endpoint
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.providers import EndpointSecret, KeySource
from prime_cli.models.registry import Registry, RegistryEntry

KEYED = {"OPENAI_API_KEY": "sk-own"}
EMPTY = KeySource(literal=EndpointSecret("EMPTY"))
QWEN = RegistryEntry(
    "qwen", "Qwen3-0.6B", "http://0.0.0.0:8000/v1", EMPTY, headers={"X-Team": "blue"}
)
HOSTED = RegistryEntry(
    "nano", "gpt-4.1-nano", "https://api.openai.com/v1", KeySource("OPENAI_API_KEY")
)
REGISTRY = Registry(entries=(QWEN, HOSTED))
NAMED = Registry(entries=(QWEN, HOSTED), explicit=True)
LOCAL = "http://127.0.0.1:8000/v1"


def key_of(endpoint: Endpoint) -> str:
    assert endpoint.key is not None
    return endpoint.key.reveal()


def test_the_default_is_openais_small_model_with_the_users_key() -> None:
    endpoint = resolve_endpoint(None, None, None, Registry(), KEYED)
    assert (endpoint.model, endpoint.url) == ("gpt-4.1-mini", "https://api.openai.com/v1")
    assert key_of(endpoint) == "sk-own"


def test_a_hosted_model_without_a_key_is_refused_with_a_way_out() -> None:
    with pytest.raises(NotLoggedIn, match="OPENAI_API_KEY") as caught:
        resolve_endpoint("gpt-4.1", None, None, Registry(), {})
    assert caught.value.hint == "`export OPENAI_API_KEY=…`"


def test_the_word_empty_is_not_a_key_for_a_hosted_model() -> None:
    with pytest.raises(NotLoggedIn):
        resolve_endpoint("gpt-4.1", None, "EMPTY", Registry(), KEYED)


def test_the_users_own_base_url_is_honoured_and_reported() -> None:
    environ = {"OPENAI_BASE_URL": "http://localhost:9/v1/"}
    endpoint = resolve_endpoint("m", None, None, Registry(), environ)
    assert endpoint.url == "http://localhost:9/v1"
    assert "OPENAI_BASE_URL" in str(endpoint.said)


def test_an_explicit_address_with_an_unset_key_sends_empty() -> None:
    endpoint = resolve_endpoint("m", "http://localhost:8000/v1", "_API_KEY", Registry(), {})
    assert key_of(endpoint) == "EMPTY"
    assert "_API_KEY is not set" in str(endpoint.said)


def test_an_alias_gives_model_address_headers_and_key() -> None:
    endpoint = resolve_endpoint("qwen", None, None, NAMED, {})
    assert (endpoint.model, endpoint.url, endpoint.alias) == ("Qwen3-0.6B", LOCAL, "qwen")
    assert endpoint.headers == {"X-Team": "blue"}
    assert key_of(endpoint) == "EMPTY"


def test_a_model_of_the_registry_is_used_and_reported() -> None:
    endpoint = resolve_endpoint("Qwen3-0.6B", None, None, NAMED, KEYED)
    assert endpoint.url == LOCAL
    assert "`Qwen3-0.6B` is the model of the registry's `qwen`" in str(endpoint.said)


def test_a_named_registry_never_falls_back_to_a_paid_default() -> None:
    with pytest.raises(NotFound, match="`qwem` is not in") as caught:
        resolve_endpoint("qwem", None, None, NAMED, KEYED)
    assert "did you mean `-m qwen`" in str(caught.value.hint)
    assert "qwen, nano" in str(caught.value.hint)


def test_an_address_makes_an_unknown_name_valid() -> None:
    endpoint = resolve_endpoint("other", LOCAL, None, NAMED, {})
    assert (endpoint.model, endpoint.url) == ("other", LOCAL)


def test_a_default_registry_leaves_other_names_alone() -> None:
    endpoint = resolve_endpoint("gpt-4.1-mini", None, None, REGISTRY, KEYED)
    assert endpoint.url == "https://api.openai.com/v1"


def test_address_and_key_together_pass_the_registry_by() -> None:
    endpoint = resolve_endpoint("qwen", "http://box/v1", "MINE", NAMED, {"MINE": "k"})
    assert (endpoint.model, endpoint.url, endpoint.alias) == ("qwen", "http://box/v1", None)


def test_a_registrys_key_and_headers_do_not_go_to_another_host() -> None:
    entry = RegistryEntry(
        "a", "A", "http://one/v1", KeySource(literal=EndpointSecret("sk-a")), headers={"X": "1"}
    )
    endpoint = resolve_endpoint("a", "http://two/v1", None, Registry(entries=(entry,)), {})
    assert (endpoint.model, endpoint.url) == ("A", "http://two/v1")
    assert key_of(endpoint) == "EMPTY"
    assert endpoint.headers == {}


def test_a_repeated_alias_is_a_group() -> None:
    second = RegistryEntry("qwen", "Qwen3-0.6B", "http://localhost:8001/v1", EMPTY)
    endpoint = resolve_endpoint("qwen", None, None, Registry(entries=(QWEN, second)), {})
    assert [member.url for member in endpoint.group] == [LOCAL, "http://localhost:8001/v1"]


def test_an_entry_that_speaks_another_protocol_is_refused() -> None:
    entry = RegistryEntry(
        "c", "claude", "https://api.anthropic.com", EMPTY, type="anthropic_messages"
    )
    with pytest.raises(UsageError, match="anthropic_messages"):
        resolve_endpoint("c", None, None, Registry(entries=(entry,)), {})


@pytest.mark.parametrize(
    ("provider", "environ", "url"),
    [
        ("openrouter", {"OPENROUTER_API_KEY": "k"}, "https://openrouter.ai/api/v1"),
        ("DeepSeek", {"DEEPSEEK_API_KEY": "k"}, "https://api.deepseek.com/v1"),
        ("vllm", {}, "http://localhost:8000/v1"),
    ],
)
def test_providers_are_known_by_name(provider: str, environ: dict[str, str], url: str) -> None:
    endpoint = resolve_endpoint("qwen", None, None, NAMED, environ, provider=provider)
    assert (endpoint.url, endpoint.model) == (url, "qwen")


def test_a_named_provider_never_gets_openais_key() -> None:
    endpoint = resolve_endpoint("m", LOCAL, None, Registry(), KEYED, provider="local")
    assert (key_of(endpoint), endpoint.key_var) == ("EMPTY", None)
    with pytest.raises(NotLoggedIn, match="GROQ_API_KEY is not set"):
        resolve_endpoint("m", "https://api.groq.com/v1", None, Registry(), KEYED, provider="groq")


def test_the_key_of_another_hub_is_not_sent_to_the_public_hubs_inference() -> None:
    environ = {"PRIME_API_KEY": "sk-team", "PRIME_API_BASE_URL": "https://hub.example.org"}
    with pytest.raises(UsageError, match=r"is the key of https://hub.example.org"):
        resolve_endpoint("m", None, None, Registry(), environ, provider="prime")
    named = {**environ, "PINFERENCE": "sk-own"}
    endpoint = resolve_endpoint("m", None, "PINFERENCE", Registry(), named, provider="prime")
    assert key_of(endpoint) == "sk-own"
    public = {"PRIME_API_KEY": "sk-own"}
    assert key_of(resolve_endpoint("m", None, None, Registry(), public, provider="prime"))


def test_an_unknown_provider_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="`nobody` is not a known provider"):
        resolve_endpoint("m", None, None, Registry(), {}, provider="nobody")


def test_a_key_in_place_of_its_name_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        resolve_endpoint("m", LOCAL, "sk-proj-123", Registry(), {})
    assert "sk-proj" not in caught.value.message + str(caught.value.hint)


def test_secrets_are_never_printed() -> None:
    endpoint = resolve_endpoint("m", LOCAL, "MINE", Registry(), {"MINE": "hidden\n"})
    assert key_of(endpoint) == "hidden"
    assert "hidden" not in f"{endpoint} {endpoint!r} {endpoint.key}"


def test_built_in_models_need_nothing() -> None:
    assert resolve_endpoint("builtin/oracle", None, None, NAMED, {}, offline=True).builtin
    with pytest.raises(NotFound, match="builtin/orakel"):
        resolve_endpoint("builtin/orakel", None, None, NAMED, {})


def test_offline_allows_only_this_machine() -> None:
    assert resolve_endpoint("m", LOCAL, None, Registry(), {}, offline=True).url == LOCAL
    with pytest.raises(Offline, match=r"api\.openai\.com"):
        resolve_endpoint("m", None, None, Registry(), KEYED, offline=True)


def test_headers_are_parsed_and_their_values_kept_quiet() -> None:
    assert parse_headers(["X-Team: blue", "Authorization:Bearer a:b"]) == {
        "X-Team": "blue",
        "Authorization": "Bearer a:b",
    }
    with pytest.raises(UsageError) as caught:
        parse_headers(["secret-without-colon"])
    assert "secret" not in caught.value.message


AZURE = "https://ada.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("model", "base_url", "environ"),
    [
        ("gpt", AZURE, {}),
        ("gpt", AZURE.replace("?", "/chat/completions?"), {}),
        ("gpt", None, {"OPENAI_BASE_URL": AZURE}),
        ("azure", None, {}),
    ],
)
def test_the_query_of_an_address_is_on_every_call(
    model: str, base_url: str | None, environ: dict[str, str]
) -> None:
    registry = Registry(entries=(RegistryEntry("azure", "gpt", AZURE, EMPTY),))
    endpoint = resolve_endpoint(model, base_url, None, registry, KEYED | environ)
    assert endpoint.url_of("models") == AZURE.replace("?", "/models?")
    assert endpoint.url_of("models", "limit=2").endswith("?api-version=2024-10-21&limit=2")
    assert endpoint.shown == endpoint.address == AZURE


def test_a_key_in_an_address_is_sent_and_not_shown() -> None:
    url = "https://example.com/v1?key=planted&alt=json"
    endpoint = resolve_endpoint("m", url, None, Registry(), KEYED)
    assert endpoint.address == url
    assert endpoint.shown == "https://example.com/v1?key=…&alt=json"
