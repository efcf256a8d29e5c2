"""The way to other machines, as variables say it."""

from pathlib import Path

import pytest

from prime_cli.core import network
from prime_cli.core.errors import UsageError
from prime_cli.core.network import (
    check_certificates,
    load_certificates,
    proxy_for,
    without_proxy_here,
)
from tests.helpers.certificates import make_certificate


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*network.PROXIES, "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "https://hub.example", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://hub.example", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://hub.example", None),
        ({"https_proxy": "p:1"}, "https://hub.example", "http://p:1"),
        ({"ALL_PROXY": "http://a:1"}, "http://hub.example", "http://a:1"),
        ({"ALL_PROXY": "http://a:1", "HTTP_PROXY": "http://p:1"}, "http://h.example", "http://p:1"),
        ({"ALL_PROXY": "socks5h://a:1"}, "https://hub.example/x", "socks5h://a:1"),
        ({"ALL_PROXY": "http://a:1", "NO_PROXY": "example.org"}, "http://hub.example.org", None),
        ({"ALL_PROXY": "http://a:1", "no_proxy": "*"}, "http://hub.example.org", None),
        ({"ALL_PROXY": ""}, "http://hub.example", None),
        *(
            ({"ALL_PROXY": "socks5://a:1", "HTTP_PROXY": "http://p:1"}, f"http://{here}", None)
            for here in ("localhost", "127.0.0.1:8480", "[::1]:8480", "127.1.2.3")
        ),
    ],
)
def test_a_proxy_is_for_other_machines(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == proxy


@pytest.mark.parametrize("value", ["ftp://p:1", "http://", "http://p:port", "http://p:0", "[::1"])
def test_what_is_no_proxy_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    with pytest.raises(UsageError, match="ALL_PROXY is not a proxy URL"):
        proxy_for("https://hub.example")
    assert proxy_for("http://localhost:1") is None


def test_a_socks_proxy_without_its_packages_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://a:1")
    monkeypatch.setattr("prime_cli.core.installation.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="SOCKS proxy of ALL_PROXY needs socksio") as caught:
        proxy_for("https://hub.example")
    assert "[socks]" in str(caught.value.hint)


def test_another_program_goes_the_same_ways() -> None:
    assert without_proxy_here({"PATH": "/bin"}) == {"PATH": "/bin"}
    given = {"ALL_PROXY": "http://p:1", "all_proxy": "http://q:1", "no_proxy": "example.org"}
    found = without_proxy_here(given)
    assert found["ALL_PROXY"] == found["all_proxy"] == "http://q:1"
    assert found["NO_PROXY"] == found["no_proxy"] == "localhost,127.0.0.1,::1,example.org"


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"SSL_CERT_FILE": "/nowhere.pem"},
            r"SSL_CERT_FILE \(/nowhere.pem\) cannot be read: No such",
        ),
        ({"SSL_CERT_DIR": "/nowhere"}, r"SSL_CERT_DIR \(/nowhere\) is not a folder"),
        ({"SSL_CERT_FILE": "/dev/null"}, r"SSL_CERT_FILE \(/dev/null\) contains no certificates"),
    ],
)
def test_certificates_that_are_missing_are_named_with_their_variable(
    variables: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        check_certificates(variables)


def test_certificates_are_those_that_were_named_and_else_many(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert len(load_certificates().get_ca_certs()) > 50
    monkeypatch.setenv("SSL_CERT_FILE", str(make_certificate(tmp_path).cert))
    assert len(load_certificates().get_ca_certs()) == 1
