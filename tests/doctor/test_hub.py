"""Whether the hub answers, knows the key, and has the same time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from prime_cli.client.api.single_requests import ProbeResult
from prime_cli.doctor.hub import check_hub, judge_clock
from tests.doctor.systems import one, system, told
from tests.helpers.scripted_hub import ScriptedHub

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
URL = "https://hub.example.org"


def answering(status: int, **headers: str) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, headers=headers))


def dated(moment: datetime) -> str:
    return f"{moment:%a, %d %b %Y %H:%M:%S} GMT"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_BASE_URL", URL)


@pytest.mark.usefixtures("served")
def test_a_hub_that_answers_is_fine_without_a_key(tmp_path: Path) -> None:
    transport = answering(401, date=dated(NOW))
    found = check_hub(system(tmp_path, transport=transport, clock=lambda: NOW))
    assert [each.status for each in found] == ["ok", "ok"]
    assert found[0].sentence.startswith(f"{URL} answers in ")


@pytest.mark.usefixtures("served")
def test_a_key_that_is_refused_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "prime_sk_planted")
    found = one(check_hub(system(tmp_path, transport=answering(401))), "hub")
    assert told(found) == ("failed", f"{URL} rejects the key", "`prime login`")
    found = one(check_hub(system(tmp_path, transport=answering(200))), "hub")
    assert found.sentence.endswith("s and accepts the key")


@pytest.mark.usefixtures("served")
def test_the_key_goes_to_the_hub_alone_and_redirects_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_API_KEY", "prime_sk_planted")
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(302, headers={"location": "https://elsewhere.example.org/"})

    check_hub(system(tmp_path, transport=httpx.MockTransport(answer)))
    assert asked == [f"{URL}/api/v1/user/whoami"]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (httpx.ConnectError("Name or service not known"), "cannot be reached: Name or service"),
        (httpx.ReadTimeout("x"), "did not answer within 3 seconds"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), "self-signed"),
    ],
)
def test_a_hub_that_cannot_be_reached_fails(
    tmp_path: Path, error: Exception, sentence: str
) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise error

    found = check_hub(system(tmp_path, transport=httpx.MockTransport(refuse)))
    assert [each.status for each in found] == ["failed", "skipped"]
    assert sentence in found[0].sentence
    if "SSL" in str(error):
        assert "SSL_CERT_FILE" in str(found[0].fix)


def test_an_upstream_that_is_away_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_UPSTREAM", URL)
    found = one(check_hub(system(tmp_path, transport=answering(503))), "hub")
    assert found.status == "warning"
    assert "upstream https://hub.example.org returned status 503" in found.sentence


def test_no_hub_is_asked_offline_or_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [each.status for each in check_hub(system(tmp_path))] == ["ok", "skipped"]
    monkeypatch.setenv("PRIME_UPSTREAM", URL)
    found = check_hub(system(tmp_path, offline=True))
    assert {each.sentence for each in found} == {"Not checked: prime is offline"}


@pytest.mark.parametrize(
    ("ahead", "status", "sentence"),
    [
        (timedelta(seconds=30), "ok", "This clock agrees with the hub's"),
        (timedelta(seconds=90), "warning", "This clock is 1m 30s ahead of the hub's"),
        (timedelta(minutes=-5), "warning", "This clock is 5m behind the hub's"),
        (timedelta(hours=1), "failed", "This clock is 1h ahead of the hub's"),
    ],
)
def test_clocks_are_compared_by_the_date_of_an_answer(
    tmp_path: Path, ahead: timedelta, status: str, sentence: str
) -> None:
    answered = ProbeResult(200, NOW, 0.0, with_key=False)
    found = judge_clock(answered, system(tmp_path, clock=lambda: NOW + ahead))
    assert (found.status, found.sentence) == (status, sentence)
    assert bool(found.fix) == (status != "ok")


def test_a_slow_answer_is_not_taken_for_a_wrong_clock(tmp_path: Path) -> None:
    answered = ProbeResult(200, NOW, 40.0, with_key=False)
    found = judge_clock(answered, system(tmp_path, clock=lambda: NOW + timedelta(seconds=80)))
    assert found.status == "ok"


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("date", ["", "yesterday", "32 Foo 2026"])
def test_an_invalid_date_is_omitted(tmp_path: Path, date: str) -> None:
    found = one(check_hub(system(tmp_path, transport=answering(200, date=date))), "clock")
    assert found.status == "skipped"


@pytest.mark.parametrize(
    ("name", "value"), [("SSL_CERT_FILE", "/nowhere.pem"), ("HTTP_PROXY", "gopher://proxy:1")]
)
def test_variables_of_other_ways_are_not_in_the_way_to_a_hub_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with ScriptedHub() as hub:
        monkeypatch.setenv("PRIME_API_BASE_URL", hub.url)
        found = one(check_hub(system(tmp_path)), "hub")
    assert found.sentence.startswith(f"{hub.url} answers")


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE (/nowhere.pem) cannot be read"),
        ("HTTPS_PROXY", "gopher://proxy:1", "HTTPS_PROXY is not a proxy URL"),
    ],
)
def test_a_variable_that_cannot_be_used_is_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(name, value)
    found = one(check_hub(system(tmp_path)), "hub")
    assert (found.status, sentence in found.sentence) == ("failed", True)
