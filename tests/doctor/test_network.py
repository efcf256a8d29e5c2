"""Proxies and certificates as prime and uv see them."""

from pathlib import Path

import pytest

from prime_cli.doctor.network import judge_certificates, judge_proxies
from tests.helpers.certificates import make_certificate

PROXY = {"HTTPS_PROXY": "http://ada:hunter2@proxy.example.org:3128"}


def test_without_proxies_there_is_nothing_to_say() -> None:
    assert judge_proxies({}).status == "ok"
    assert judge_proxies({"NO_PROXY": "localhost"}).status == "ok"


def test_a_proxy_is_shown_without_its_password() -> None:
    found = judge_proxies({**PROXY, "NO_PROXY": "localhost,127.0.0.1"})
    assert found.sentence == "HTTPS_PROXY is proxy.example.org:3128; not for this machine itself"
    assert "hunter2" not in str(judge_proxies(PROXY))


def test_this_machine_must_not_be_reached_through_a_proxy() -> None:
    found = judge_proxies({**PROXY, "NO_PROXY": "example.org, localhost"})
    assert found.status == "warning"
    assert found.fix == "`export NO_PROXY=example.org,localhost,127.0.0.1`"
    assert judge_proxies({**PROXY, "no_proxy": "*"}).status == "ok"


def test_two_spellings_with_two_values_are_told() -> None:
    found = judge_proxies({**PROXY, "https_proxy": "http://other:1"})
    assert (found.status, found.fix) == ("warning", "`unset https_proxy`")


@pytest.mark.parametrize("value", ["ftp://proxy:1", "http://", "http://proxy:port", "http://[::1"])
def test_what_is_no_proxy_fails(value: str) -> None:
    found = judge_proxies({"HTTP_PROXY": value})
    assert (found.status, found.sentence) == ("failed", "HTTP_PROXY is no address of a proxy")


def test_authorities_are_counted(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    found = judge_certificates({"SSL_CERT_FILE": str(certificate.cert)})
    assert found.status == "ok"
    assert str(certificate.cert) in found.sentence


@pytest.mark.parametrize("content", [None, "", "no PEM"])
def test_authorities_that_cannot_be_read_fail(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    found = judge_certificates({"SSL_CERT_FILE": str(file)})
    assert (found.status, str(file) in found.sentence) == ("failed", True)


def test_a_variable_of_other_tools_is_told() -> None:
    found = judge_certificates({"REQUESTS_CA_BUNDLE": "/etc/ca.pem"})
    assert (found.status, found.fix) == ("warning", '`export SSL_CERT_FILE="$REQUESTS_CA_BUNDLE"`')
    assert judge_certificates({"SSL_CERT_DIR": "/nowhere"}).status == "failed"
