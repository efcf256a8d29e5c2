"""Reports of checks beside versions: kept whole, told in short, and looked at as hostile input."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.services.version_documents import MOST_REPORT_BYTES
from prime_cli.wire.check_reports import Check, CheckReport, CheckSummary, in_words, summarize
from prime_cli.wire.codec import Envelope, convert, decode, encode, to_builtins
from prime_cli.wire.locks import Capabilities
from tests.hub.pushing import HUB, Push, data, open_app, sha256

ADDRESS = f"{HUB}/ada/word/@0.1.0/check"


def report_of(wheel: bytes, **changes: Any) -> CheckReport:
    checks = (
        Check("build", "pass", "word has 1 byte", {"bytes": 1}),
        Check("leaks", "warn", "3 of 10 <b>examples</b>", {"examples": [1, 2]}, "leave it out"),
        Check("secrets", "skip", "Not reached"),
    )
    report = CheckReport(
        environment="word@0.1.0",
        wheel_sha256=sha256(wheel),
        verdict="warn",
        checks=checks,
        date="2026-01-02T03:04:05+00:00",
        prime="0.1.0",
    )
    return msgspec.structs.replace(report, **changes)


def put(client: httpx.Client, report: CheckReport | dict[str, Any]) -> httpx.Response:
    return client.put(ADDRESS, json=to_builtins(report))


def test_a_report_is_kept_beside_its_version_and_told_in_short(client: httpx.Client) -> None:
    push = Push(client).run()
    assert "check_summary" not in data(client.get(f"{HUB}/ada/word/@latest"))
    report = report_of(push.wheel)
    said = convert(data(put(client, report)), CheckSummary)
    assert said == summarize(report)
    assert in_words(said) == "passed 1, warned 1, skipped 1"
    answer = client.get(ADDRESS).raise_for_status()
    assert decode(answer.content, Envelope[CheckReport]).data == report
    assert data(client.get(f"{HUB}/ada/word/@latest"))["check_summary"] == to_builtins(said)


def test_a_later_report_takes_the_place_of_an_earlier_one(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put(client, report_of(push.wheel)))
    only = (Check("build", "fail", "no"),)
    data(put(client, report_of(push.wheel, checks=only, verdict="fail")))
    assert data(client.get(ADDRESS))["verdict"] == "fail"


def test_a_version_without_a_report_says_how_to_check_it(client: httpx.Client) -> None:
    Push(client).run()
    answer = client.get(ADDRESS)
    assert answer.status_code == 404
    assert "prime env check ada/word" in answer.text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"verdict": "pass"}, "does not match its checks"),
        ({"schema": 2}, "schema 2"),
        ({"date": "yesterday"}, "not ISO 8601"),
        ({"environment": "a\x1b[31mb"}, "control characters"),
        ({"checks": (), "verdict": "pass"}, "CheckReport"),
        ({"checks": (Check("build", "pass", "x"),) * 2, "verdict": "pass"}, "same check twice"),
        ({"checks": (Check("Bad Id", "pass", "x"),), "verdict": "pass"}, "CheckReport"),
        ({"checks": (Check("build", "pass", "x" * 501),), "verdict": "pass"}, "CheckReport"),
        ({"wheel_sha256": "zz"}, "CheckReport"),
        ({"examples": -1}, "CheckReport"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(
    client: httpx.Client, changes: dict[str, Any], told: str
) -> None:
    push = Push(client).run()
    answer = put(client, report_of(push.wheel, **changes))
    assert (answer.status_code, answer.json()["code"]) == (
        422,
        "usage",
    ) or answer.status_code == 400
    assert told in answer.text
    assert client.get(ADDRESS).status_code == 404


def test_a_report_of_another_wheel_is_refused(client: httpx.Client) -> None:
    Push(client).run()
    answer = put(client, report_of(b"another wheel"))
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")


def test_a_report_that_is_too_long_is_refused(client: httpx.Client) -> None:
    push = Push(client).run()
    long = (Check("build", "pass", "x", {"bytes": "x" * MOST_REPORT_BYTES}),)
    answer = put(client, report_of(push.wheel, checks=long, verdict="pass"))
    assert answer.status_code == 413


def test_a_report_about_somebody_elses_version_is_refused(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    assert put(open_app(folder, "eve"), report_of(push.wheel)).status_code == 403


def test_a_report_goes_with_its_version(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put(client, report_of(push.wheel)))
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    push.run()
    assert client.get(ADDRESS).status_code == 404


def test_the_page_shows_the_counts_and_what_did_not_pass(client: httpx.Client) -> None:
    push = Push(client).run()
    page = "/dashboard/environments/ada/word"
    assert "published without one" in client.get(page).text
    data(put(client, report_of(push.wheel)))
    text = client.get(page).text
    assert "check: passed 1, warned 1, skipped 1" in text
    assert "3 of 10 &lt;b&gt;examples&lt;/b&gt;" in text
    assert "word has 1 byte" not in text


def test_hub_says_that_it_keeps_reports(client: httpx.Client) -> None:
    found = decode(client.get("/api/v1/capabilities").content, Capabilities)
    assert "checks" in found.features


@given(
    st.lists(st.sampled_from(["pass", "warn", "fail", "skip"]), min_size=1, max_size=20),
    st.text(max_size=200),
)
def test_reports_outlive_the_wire(statuses: list[Any], sentence: str) -> None:
    checks = tuple(
        Check(f"check-{'x' * n}", status, sentence, {"n": n}) for n, status in enumerate(statuses)
    )
    report = report_of(b"", checks=checks)
    assert decode(encode(report), CheckReport) == report
    found = summarize(report)
    assert found.passed + found.warned + found.failed + found.skipped == len(statuses)
    assert (found.verdict == "fail") == ("fail" in statuses)
