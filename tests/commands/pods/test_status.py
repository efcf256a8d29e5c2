"""`prime pods status`, `logs` and `history`, against a hub whose machines are on paper."""

from datetime import UTC, datetime

import pytest

from prime_cli.hub.compute.provider import PodStatus
from tests.helpers.cli import Prime
from tests.hub.services.compute.renting import PodHub, wish


def test_a_pod_that_is_up_is_shown_with_its_address_and_the_way_there(
    prime: Prime, pod_hub: PodHub
) -> None:
    pod = pod_hub.rent(**wish(name="web", image="cuda_12_6_pytorch_2_7"))
    pod_hub.arrive(pod)
    shown = prime("pods", "status", "web").ok()
    lines = dict(line.split(None, 1) for line in shown.out.splitlines())
    assert lines["id"] == pod["id"]
    assert lines["status"] == "ACTIVE"
    assert lines["ssh"] == "root@192.0.2.10 -p 2222"
    assert lines["image"] == "cuda_12_6_pytorch_2_7"
    assert lines["price"].startswith("$1.65/h, $")
    assert lines["stops"].endswith("(in 1d)")
    assert lines["port"] == "TCP 2222 -> 22, SSH"
    assert "installing" not in lines
    assert "`prime pods ssh web`" in shown.err


def test_a_pod_on_its_way_says_how_far_it_is(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus("ACTIVE", progress=40)
    lines = prime("pods", "status", "web").ok().out.splitlines()
    assert "status      INSTALLING" in lines
    assert "installing  ACTIVE, 40%" in lines


def test_a_pod_that_was_started_again_says_when(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    pod_hub.arrive(pod)
    assert "restarted" not in prime("pods", "status", "web").ok().out
    assert "started_again" not in prime("pods", "status", "web", "-o", "json").ok().json
    again = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus("ACTIVE", started_again=again)
    assert "restarted  2026-11-21T12:05:00Z (" in prime("pods", "status", "web").ok().out
    shown = prime("pods", "status", "web", "-o", "json").ok().json
    assert shown["started_again"] == "2026-11-21T12:05:00Z"


def test_a_pod_is_named_by_its_id_or_the_beginning_of_that(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    for word in (pod["id"], pod["id"][:6]):
        assert prime("pods", "status", word, "-o", "json").ok().json["id"] == pod["id"]
    missing = prime("pods", "status", "nothing")
    assert missing.code == 6
    assert "`prime pods list`" in missing.err


def test_a_pod_that_failed_says_why_and_what_to_do(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    pod_hub.machines.fail(pod_hub.tag(pod), "no A100 was left in US-KS-2")
    shown = prime("pods", "status", "web", "--output", "json").ok()
    assert shown.json["status"] == "ERROR"
    assert shown.json["installation_error"] == "no A100 was left in US-KS-2"
    assert "`web` failed: no A100 was left in US-KS-2" in shown.err
    assert "`prime pods logs web`" in shown.err
    assert "`prime pods terminate web`" in shown.err


def test_a_pod_that_ended_is_shown_from_the_history_with_its_place_there(
    prime: Prime, pod_hub: PodHub
) -> None:
    for name in ("first", "second"):
        pod = pod_hub.rent(**wish(name=name))
        pod_hub.accounts_hub.clock.wait(hours=1)
        prime("pods", "terminate", name, "--yes").ok()
    shown = prime("pods", "status", "first").ok()
    lines = dict(line.split(None, 1) for line in shown.out.splitlines())
    assert (lines["status"], lines["duration"]) == ("TERMINATED", "1h")
    assert lines["price"] == "$1.65/h, $1.65 in all"
    assert "`first` ended" in shown.err
    assert "`prime pods history --offset 1 --limit 1` has it" in shown.err
    one = prime("pods", "history", "--offset", "1", "--limit", "1", "-o", "json").ok().json
    assert [each["name"] for each in one["history"]] == ["first"]
    assert one["total_count"] == 2
    assert pod["id"] not in str(one)


def test_a_pod_that_never_began_shows_its_failure_from_the_history(
    prime: Prime, pod_hub: PodHub
) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    pod_hub.machines.end(pod_hub.tag(pod))
    pod_hub.accounts_hub.clock.wait(minutes=2)
    shown = prime("pods", "status", "web", "-o", "json").ok()
    assert shown.json["status"] == "ERROR"
    assert "its creation was interrupted" in shown.json["installation_error"]
    assert "`web` failed: " in shown.err


def test_history_is_reported_with_what_each_pod_came_to(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    pod_hub.accounts_hub.clock.wait(minutes=30)
    prime("pods", "terminate", "web", "--yes").ok()
    _header, row = prime("pods", "history").ok().out.splitlines()
    assert row.split()[0] == "web"
    assert "  30m  " in row
    assert "$0.82" in row
    assert row.split()[-2:] == ["paper", "-"]


def test_the_age_of_a_pod_is_shown_like_its_remaining_time(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    pod_hub.accounts_hub.clock.wait(hours=2, minutes=5)
    prime("pods", "terminate", "web", "--yes").ok()
    _header, row = prime("pods", "history").ok().out.splitlines()
    assert "  2h 5m  " in row
    (record,) = prime("pods", "history", "-o", "json").ok().json["history"]
    assert record["duration"] == "2.1h"  # the form of the official client


def test_the_last_lines_of_a_log_are_printed(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    assert prime("pods", "logs", "web").ok().out == "booting\nready\n"
    assert prime("pods", "logs", "web", "--tail", "1").ok().out == "ready\n"
    assert prime("pods", "logs", "web", "-o", "json").ok().json == {"logs": "booting\nready\n"}


def test_a_log_that_went_with_its_pod_is_not_still_to_come(
    prime: Prime, pod_hub: PodHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod_hub.rent(**wish(name="web"))
    monkeypatch.setattr(pod_hub.machines, "log", lambda _tag, _lines: "")
    assert "The log is empty" in prime("pods", "logs", "web").ok().err
    prime("pods", "terminate", "web", "--yes").ok()
    told = prime("pods", "logs", "web").ok().err
    assert told == "`web` has been terminated, and its log was not kept\n"


def test_an_empty_history_is_reported(prime: Prime) -> None:
    assert prime("pods", "history").ok().err == "No pod has been terminated yet\n"


def test_following_the_log_of_a_pod_that_ended_ends_too(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    prime("pods", "terminate", "web", "--yes").ok()
    shown = prime("pods", "logs", "web", "--follow").ok()
    assert shown.out == "booting\nready\n"
    assert "`web` has ended" in shown.err


def test_following_has_no_single_json_document(prime: Prime) -> None:
    assert prime("pods", "logs", "web", "--follow", "--output", "json").code == 2
