from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.hub.serving.proxies import ProxyMiddleware, read_networks
from tests.hub.serving.asgi import ask, echo


def located(peer: str, *trusted: str, **headers: str) -> dict[str, Any]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = ask(ProxyMiddleware(echo, read_networks(trusted)), peer=peer, headers=sent)
    scope: dict[str, Any] = dict(answer.scope)
    return scope


def test_peer_that_is_not_trusted_cannot_say_who_it_is() -> None:
    scope = located("192.0.2.7", "10.0.0.0/8", x_forwarded_for="1.2.3.4", x_forwarded_proto="https")
    assert scope["state"] == {"address": "192.0.2.7", "near": False}
    assert scope["scheme"] == "http"


def test_trusted_proxy_says_where_a_request_comes_from() -> None:
    scope = located(
        "10.0.0.1",
        "10.0.0.0/8",
        x_forwarded_for="1.2.3.4",
        x_forwarded_proto="https",
        x_forwarded_host="hub.example.org",
        host="10.0.0.9",
    )
    assert scope["state"]["address"] == "1.2.3.4"
    assert scope["client"][0] == "1.2.3.4"
    assert scope["scheme"] == "https"
    assert [v for k, v in scope["headers"] if k == b"host"] == [b"hub.example.org"]


def test_address_that_the_client_put_before_the_proxys_is_not_trusted() -> None:
    scope = located("10.0.0.1", "10.0.0.0/8", x_forwarded_for="127.0.0.1, 1.2.3.4, 10.0.0.2")
    assert scope["state"]["address"] == "1.2.3.4"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("1.2.3.4:5678", "1.2.3.4"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("unknown", "10.0.0.1"),
        ("", "10.0.0.1"),
    ],
)
def test_addresses_are_read_in_every_spelling(said: str, meant: str) -> None:
    scope = located("10.0.0.1", "10.0.0.0/8", x_forwarded_for=said)
    assert scope["state"]["address"] == meant


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "", "127.8.8.8"])
def test_callers_on_this_machine_are_near(peer: str) -> None:
    assert located(peer)["state"]["near"]


def test_callers_behind_a_local_proxy_are_not_local() -> None:
    assert not located("127.0.0.1", x_forwarded_for="1.2.3.4")["state"]["near"]
    assert not located("127.0.0.1", "127.0.0.1", x_forwarded_for="127.0.0.1")["state"]["near"]


def test_text_that_is_not_a_network_is_refused() -> None:
    with pytest.raises(UsageError, match="--trusted-proxies"):
        read_networks(["10.0.0.0/8", "proxy.example.org"])


@given(st.text(alphabet=st.characters(max_codepoint=255)), st.sampled_from(["10.0.0.1", "9.9.9.9"]))
def test_any_header_is_survived(said: str, peer: str) -> None:
    headers = [(b"x-forwarded-for", said.encode("latin-1"))]
    scope: dict[str, Any] = {"headers": headers, "client": (peer, 1), "scheme": "http"}
    ProxyMiddleware(echo, read_networks(["10.0.0.0/8"]))._locate(scope)
    assert scope["state"]["address"]
