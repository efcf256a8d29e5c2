"""Documents beside a version: lock, check report, signatures."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.wire.check_reports import Check, CheckReport, CheckSummary, in_words, summarize
from prime_cli.wire.codec import Envelope, convert, decode, encode
from prime_cli.wire.locks import (
    LONGEST_SIGNATURE,
    MOST_SIGNATURES,
    Capabilities,
    Lock,
    LockedPackage,
    Signature,
    Signatures,
)
from prime_cli.wire.version_documents import CHECK_REPORT, SIGNATURES
from tests.hub.pushing import HUB, Push, data, open_app, sha256

# --- Locks ---


def lock_of(wheel: bytes, verifiers: str = "0.1.14") -> Lock:
    packages = (LockedPackage("verifiers", verifiers, sha256=("0" * 64,)),)
    return Lock(1, sha256(wheel), verifiers, "v0", "3.11", "date", packages)


def put_lock(client: httpx.Client, lock: Lock) -> httpx.Response:
    return client.put(f"{HUB}/ada/word/@0.1.0/lock", json=msgspec.to_builtins(lock))


def test_lock_is_kept_beside_the_version(client: httpx.Client) -> None:
    push = Push(client).run()
    assert data(client.get(f"{HUB}/ada/word/@latest")).get("has_lock") is None
    for lock in (lock_of(push.wheel), lock_of(push.wheel, "0.3.1")):
        data(put_lock(client, lock))
        answer = client.get(f"{HUB}/ada/word/@latest/lock").raise_for_status()
        assert decode(answer.content, Envelope[Lock]).data == lock
    assert data(client.get(f"{HUB}/ada/word/@latest"))["has_lock"] is True


def test_version_without_a_lock_has_none(client: httpx.Client) -> None:
    Push(client).run()
    assert client.get(f"{HUB}/ada/word/@0.1.0/lock").status_code == 404


def test_lock_of_another_wheel_is_refused(client: httpx.Client) -> None:
    Push(client).run()
    answer = put_lock(client, lock_of(b"another wheel"))
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")


def test_lock_of_another_users_version_is_refused(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    assert put_lock(open_app(folder, "eve"), lock_of(push.wheel)).status_code == 403


def test_lock_goes_with_its_version(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put_lock(client, lock_of(push.wheel)))
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    push.run()
    assert client.get(f"{HUB}/ada/word/@0.1.0/lock").status_code == 404


def test_hub_says_that_it_keeps_locks(client: httpx.Client) -> None:
    found = decode(client.get("/api/v1/capabilities").content, Capabilities)
    assert "locks" in found.features


# --- Check reports ---

REPORT = f"{HUB}/ada/word/@0.1.0/check"


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


def put_report(client: httpx.Client, report: CheckReport | dict[str, Any]) -> httpx.Response:
    return client.put(REPORT, json=msgspec.to_builtins(report))


def test_a_report_is_stored_with_its_version_and_summarized(client: httpx.Client) -> None:
    push = Push(client).run()
    assert "check_summary" not in data(client.get(f"{HUB}/ada/word/@latest"))
    report = report_of(push.wheel)
    said = convert(data(put_report(client, report)), CheckSummary)
    assert said == summarize(report)
    assert in_words(said) == "passed 1, warned 1, skipped 1"
    answer = client.get(REPORT).raise_for_status()
    assert decode(answer.content, Envelope[CheckReport]).data == report
    assert data(client.get(f"{HUB}/ada/word/@latest"))["check_summary"] == msgspec.to_builtins(said)


def test_a_later_report_takes_the_place_of_an_earlier_one(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put_report(client, report_of(push.wheel)))
    only = (Check("build", "fail", "no"),)
    data(put_report(client, report_of(push.wheel, checks=only, verdict="fail")))
    assert data(client.get(REPORT))["verdict"] == "fail"


def test_a_version_without_a_report_says_how_to_check_it(client: httpx.Client) -> None:
    Push(client).run()
    answer = client.get(REPORT)
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
    answer = put_report(client, report_of(push.wheel, **changes))
    assert (answer.status_code, answer.json()["code"]) == (
        422,
        "usage",
    ) or answer.status_code == 400
    assert told in answer.text
    assert client.get(REPORT).status_code == 404


def test_a_report_of_another_wheel_is_refused(client: httpx.Client) -> None:
    Push(client).run()
    answer = put_report(client, report_of(b"another wheel"))
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")


def test_a_report_that_is_too_long_is_refused(client: httpx.Client) -> None:
    push = Push(client).run()
    long = (Check("build", "pass", "x", {"bytes": "x" * CHECK_REPORT.most_bytes}),)
    answer = put_report(client, report_of(push.wheel, checks=long, verdict="pass"))
    assert answer.status_code == 413


def test_a_report_about_another_users_version_is_refused(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    assert put_report(open_app(folder, "eve"), report_of(push.wheel)).status_code == 403


def test_a_report_goes_with_its_version(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put_report(client, report_of(push.wheel)))
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    push.run()
    assert client.get(REPORT).status_code == 404


def test_the_page_shows_the_counts_and_what_did_not_pass(client: httpx.Client) -> None:
    push = Push(client).run()
    page = "/dashboard/environments/ada/word/details"
    assert "Published without a check report" in client.get(page).text
    data(put_report(client, report_of(push.wheel)))
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


# --- Signatures ---

SIGNATURES_URL = f"{HUB}/ada/word/@0.1.0/signatures"
ARMOUR = "-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----\n"
SSH = Signature("ssh", ARMOUR)
ATTESTATION = Signature("pep740", '{"version": 1}')


def put_signatures(client: httpx.Client, wheel: bytes, *signatures: Signature) -> httpx.Response:
    return client.put(
        SIGNATURES_URL, json=msgspec.to_builtins(Signatures(sha256(wheel), signatures))
    )


def test_signatures_are_kept_as_they_came_and_counted(client: httpx.Client) -> None:
    push = Push(client).run()
    assert "signatures" not in data(client.get(f"{HUB}/ada/word/@latest"))
    data(put_signatures(client, push.wheel, SSH, ATTESTATION))
    answer = client.get(SIGNATURES_URL).raise_for_status()
    kept = decode(answer.content, Envelope[Signatures]).data
    assert kept == Signatures(sha256(push.wheel), (SSH, ATTESTATION))
    assert data(client.get(f"{HUB}/ada/word/@latest"))["signatures"] == 2


def test_later_ones_take_their_place_and_none_take_them_away(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put_signatures(client, push.wheel, SSH, ATTESTATION))
    data(put_signatures(client, push.wheel, SSH))
    assert len(data(client.get(SIGNATURES_URL))["signatures"]) == 1
    data(put_signatures(client, push.wheel))
    assert client.get(SIGNATURES_URL).status_code == 404


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("ssh", "U1NI"),
        ("ssh", ARMOUR.replace("U1NI", "Ü")),
        ("ssh", f"{ARMOUR}more"),
        ("pep740", "not json"),
        ("pep740", "[]"),
        ("pep740", "[" * 30_000),
        ("pgp", ARMOUR),
        ("ssh", ""),
        ("ssh", "x" * (LONGEST_SIGNATURE + 1)),
    ],
)
def test_an_invalid_signature_is_refused(client: httpx.Client, kind: Any, body: str) -> None:
    push = Push(client).run()
    answer = put_signatures(client, push.wheel, Signature(kind, body))
    assert answer.status_code in {400, 422}
    assert client.get(SIGNATURES_URL).status_code == 404


def test_too_many_or_too_long_ones_are_refused(client: httpx.Client) -> None:
    push = Push(client).run()
    assert put_signatures(client, push.wheel, *[SSH] * (MOST_SIGNATURES + 1)).status_code in {
        400,
        422,
    }
    long = client.put(SIGNATURES_URL, content=b" " * (SIGNATURES.most_bytes + 1))
    assert long.status_code == 413


def test_those_of_another_wheel_are_refused(client: httpx.Client) -> None:
    Push(client).run()
    answer = put_signatures(client, b"another wheel", SSH)
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")


def test_only_who_may_publish_may_sign(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    assert put_signatures(open_app(folder, "eve"), push.wheel, SSH).status_code == 403


def test_signatures_go_with_their_version(client: httpx.Client) -> None:
    push = Push(client).run()
    data(put_signatures(client, push.wheel, SSH))
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    push.run()
    assert client.get(SIGNATURES_URL).status_code == 404


def test_hub_says_that_it_keeps_them_and_each_wheels_sha256(client: httpx.Client) -> None:
    assert "signatures" in client.get("/api/v1/capabilities").json()["features"]
    push = Push(client).run()
    (row,) = data(client.get(f"{HUB}/ada/word/versions"))["versions"]
    assert row["wheel_sha256"] == sha256(push.wheel)
