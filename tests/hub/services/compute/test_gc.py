"""Leaks, and the thread that finds them."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import Unreachable
from prime_cli.hub.compute.provider import PodStatus
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.compute.access import SYSTEM_CALLER
from prime_cli.hub.services.compute.gc import (
    DISK,
    FAILED,
    LATE,
    MACHINE,
    SILENT,
    collect_all_garbage,
    collect_garbage,
)
from prime_cli.hub.services.compute.providers import tag_prefix
from prime_cli.hub.services.compute.reconcile import refresh_all
from prime_cli.hub.serving.application import PodWatcher
from prime_cli.wire.pods import ACTIVE
from tests.hub.accounts_hub import OPERATOR, AccountsHub, actions
from tests.hub.services.compute.renting import API, PodHub

# --- Leaks ---


def stray(pod_hub: PodHub) -> str:
    """A machine and a disk of which this hub knows nothing."""
    tag = f"{tag_prefix(pod_hub.accounts_hub.hub)}0123456789ab"
    pod_hub.machines.seen[tag] = PodStatus(ACTIVE)
    pod_hub.machines.disks[tag] = 10
    return tag


def ask_to_sweep(
    pod_hub: PodHub, client: Any = None, *, dry_run: bool = False
) -> list[dict[str, Any]]:
    answer = (client or pod_hub.ada).post(f"{API}/pods/sweep", json={"dryRun": dry_run})
    assert answer.is_success, answer.text
    leaks: list[dict[str, Any]] = answer.json()["leaks"]
    return leaks


def test_a_hub_in_order_has_no_leaks(pod_hub: PodHub) -> None:
    pod_hub.arrive(pod_hub.rent())
    assert ask_to_sweep(pod_hub) == []
    assert len(pod_hub.machines.seen) == 1


def test_an_admin_finds_machines_and_disks_without_a_row(pod_hub: PodHub) -> None:
    tag = stray(pod_hub)
    swept = collect_garbage(pod_hub.accounts_hub.hub, OPERATOR, dry_run=False)
    assert [(leak.kind, leak.id, leak.ended) for leak in swept.leaks] == [
        (MACHINE, tag, True),
        (DISK, tag, True),
    ]
    assert (pod_hub.machines.seen, pod_hub.machines.disks) == ({}, {})
    assert actions(list_entries(pod_hub.accounts_hub.hub, action="pod."))[-1] == (
        "cli",
        "pod.sweep",
        "pods",
    )


def test_a_dry_run_reports_and_terminates_nothing(pod_hub: PodHub) -> None:
    tag = stray(pod_hub)
    pod = pod_hub.rent()
    pod_hub.accounts_hub.clock.wait(hours=25)
    swept = collect_garbage(pod_hub.accounts_hub.hub, OPERATOR, dry_run=True)
    assert [(leak.kind, leak.id, leak.ended) for leak in swept.leaks] == [
        (MACHINE, tag, False),
        (LATE, pod["id"], False),
        (DISK, tag, False),
    ]
    assert len(pod_hub.machines.seen) == 2


def test_a_user_sweeps_only_what_is_the_users(pod_hub: PodHub) -> None:
    stray(pod_hub)
    bob = pod_hub.tenant("bob", 2)
    for client in (pod_hub.ada, bob):
        pod_hub.rent(client)
    pod_hub.accounts_hub.clock.wait(hours=25)
    [leak] = ask_to_sweep(pod_hub, bob)
    assert (leak["kind"], leak["owner"], leak["ended"]) == (LATE, "bob", True)
    assert len(pod_hub.machines.seen) == 2


def test_a_machine_of_a_pod_that_has_ended_is_its_users_to_sweep(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    tag = pod_hub.tag(pod)
    pod_hub.ada.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    pod_hub.machines.seen[tag] = PodStatus(ACTIVE)
    assert ask_to_sweep(pod_hub, pod_hub.tenant("bob", 2)) == []
    [leak] = ask_to_sweep(pod_hub)
    assert (leak["kind"], leak["id"], leak["name"]) == (MACHINE, pod["id"], "trainer")
    assert pod_hub.machines.seen == {}


def test_a_failed_pod_whose_machine_is_still_there_is_a_leak(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.fail(pod_hub.tag(pod), "No capacity")
    assert pod_hub.pod(pod["id"])["status"] == "ERROR"
    [leak] = ask_to_sweep(pod_hub)
    assert (leak["kind"], leak["ended"]) == (FAILED, True)
    assert pod_hub.pods() == []


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_failed_pod_that_is_swept_keeps_its_reason(pod_hub: PodHub, is_looked_at: bool) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.fail(pod_hub.tag(pod), "No capacity")
    if is_looked_at:
        pod_hub.pod(pod["id"])
    [leak] = ask_to_sweep(pod_hub)
    ended = pod_hub.pod(pod["id"])
    assert (leak["ended"], ended["status"]) == (True, "TERMINATED")
    assert ended["installationFailure"] == "No capacity"


def test_what_is_on_a_failed_pod_is_its_users_to_end_until_the_deadline(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.fail(pod_hub.tag(pod), "Its sshd ended")
    for caller in (SYSTEM_CALLER, OPERATOR):
        assert collect_garbage(pod_hub.accounts_hub.hub, caller, dry_run=False).leaks == []
    assert pod_hub.pod(pod["id"])["status"] == "ERROR"
    pod_hub.accounts_hub.clock.wait(hours=25)
    [leak] = collect_garbage(pod_hub.accounts_hub.hub, SYSTEM_CALLER, dry_run=False).leaks
    assert (leak.kind, leak.ended) == (LATE, True)
    assert pod_hub.machines.seen == {}


def test_a_stopped_pod_that_can_be_resumed_is_not_a_leak_and_stays_stopped(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus("PROVISIONING", is_resumable=True)
    assert ask_to_sweep(pod_hub) == []
    assert pod_hub.machines.resumed == []


def test_a_recovered_pod_is_not_a_leak_before_it_is_refreshed(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.fail(pod_hub.tag(pod), "It is up, and has no address")
    assert pod_hub.pod(pod["id"])["status"] == "ERROR"
    pod_hub.arrive(pod)
    assert ask_to_sweep(pod_hub) == []
    assert pod_hub.pod(pod["id"])["status"] == "ACTIVE"


def test_what_is_there_and_cannot_be_looked_at_is_ended_too(pod_hub: PodHub) -> None:
    tag = stray(pod_hub)
    pod_hub.machines.inspect = lambda tags: {}  # type: ignore[method-assign]
    [machine, _] = collect_garbage(pod_hub.accounts_hub.hub, OPERATOR, dry_run=False).leaks
    assert (machine.kind, machine.id, machine.ended) == (MACHINE, tag, True)
    assert pod_hub.machines.seen == {}


def test_a_pod_that_ends_meanwhile_is_not_a_leak(pod_hub: PodHub) -> None:
    tag = stray(pod_hub)
    found, answers = pod_hub.machines.list_tags, [[tag]]
    pod_hub.machines.list_tags = lambda prefix: answers.pop() if answers else found(prefix)  # type: ignore[method-assign]
    del pod_hub.machines.seen[tag], pod_hub.machines.disks[tag]
    assert collect_garbage(pod_hub.accounts_hub.hub, OPERATOR, dry_run=False).leaks == []


def test_a_provider_that_does_not_answer_is_reported(pod_hub: PodHub) -> None:
    def fail(prefix: str) -> Any:
        raise Unreachable("The cloud is down")

    pod_hub.machines.list_tags = fail  # type: ignore[method-assign]
    [leak] = ask_to_sweep(pod_hub)
    assert (leak["kind"], leak["failure"]) == (SILENT, "The cloud is down")


def test_what_cannot_be_ended_says_why(pod_hub: PodHub) -> None:
    tag = stray(pod_hub)

    def fail(tag: str) -> None:
        raise Unreachable("The cloud is down")

    pod_hub.machines.end = fail  # type: ignore[method-assign]
    [machine, _] = collect_garbage(pod_hub.accounts_hub.hub, OPERATOR, dry_run=False).leaks
    assert (machine.id, machine.ended, machine.failure) == (tag, False, "The cloud is down")


def test_a_read_only_key_only_reports(pod_hub: PodHub) -> None:
    reader = pod_hub.accounts_hub.client(pod_hub.accounts_hub.key("ada", scope="read"))
    pod_hub.rent()
    pod_hub.accounts_hub.clock.wait(hours=25)
    assert len(ask_to_sweep(pod_hub, reader, dry_run=True)) == 1
    assert reader.post(f"{API}/pods/sweep", json={}).status_code == 403


# --- In the background ---


class Rounds:
    """Waits that are over at once, as many as there are; the time goes on by each."""

    def __init__(self, pod_hub: PodHub, count: int) -> None:
        self.left = count
        self._pod_hub = pod_hub

    def __call__(self, seconds: float) -> bool:
        self.left -= 1
        self._pod_hub.accounts_hub.clock.wait(seconds=seconds)
        return self.left < 0


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    return None


def test_expired_pods_are_terminated_without_a_request(pod_hub: PodHub) -> None:
    pod_hub.arrive(pod_hub.rent(stopAt="2026-11-21T12:01:00Z"))
    watch = PodWatcher(_nothing, pod_hub.accounts_hub.hub)
    watch.watch(Rounds(pod_hub, 1))
    assert len(pod_hub.machines.seen) == 1
    watch.watch(Rounds(pod_hub, 1))
    assert pod_hub.machines.seen == {}


def test_a_hub_sweeps_when_it_starts(pod_hub: PodHub, caplog: pytest.LogCaptureFixture) -> None:
    tag = f"{tag_prefix(pod_hub.accounts_hub.hub)}0123456789ab"
    pod_hub.machines.seen[tag] = PodStatus(ACTIVE)
    with caplog.at_level(logging.WARNING):
        PodWatcher(_nothing, pod_hub.accounts_hub.hub).watch(Rounds(pod_hub, 0))
    assert pod_hub.machines.seen == {}
    assert f"machine without a pod: {tag} of `paper`: ended" in caplog.text


def test_a_provider_that_fails_during_a_sweep_is_reported_by_name(
    pod_hub: PodHub, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_prefix: str) -> Any:
        raise Unreachable("The cloud is down")

    pod_hub.machines.list_tags = fail  # type: ignore[method-assign, assignment]
    with caplog.at_level(logging.WARNING):
        PodWatcher(_nothing, pod_hub.accounts_hub.hub).watch(Rounds(pod_hub, 0))
    assert "provider that does not answer: paper: The cloud is down" in caplog.text


def test_a_hub_that_is_started_again_at_once_sweeps_a_round_later(pod_hub: PodHub) -> None:
    """What the one before it was making when it was killed."""
    hub = pod_hub.accounts_hub.hub
    assert collect_all_garbage(hub, 30) is not None
    pod_hub.accounts_hub.clock.wait(seconds=3)
    pod_hub.machines.seen[f"{tag_prefix(hub)}0123456789ab"] = PodStatus(ACTIVE)
    PodWatcher(_nothing, hub).watch(Rounds(pod_hub, 1))
    assert pod_hub.machines.seen == {}


def test_of_several_processes_one_looks(folder: Path, pod_hub: PodHub) -> None:
    other = AccountsHub(folder, clock=pod_hub.accounts_hub.clock, providers=(pod_hub.machines,))
    hubs = (pod_hub.accounts_hub.hub, other.hub)
    assert [refresh_all(hub, 30) for hub in hubs] == [True, False]
    assert [collect_all_garbage(hub, 30) is not None for hub in hubs] == [True, False]
    pod_hub.accounts_hub.clock.wait(seconds=30)
    assert [refresh_all(hub, 30) for hub in reversed(hubs)] == [True, False]


def test_a_clock_that_was_wrong_does_not_stop_the_watch(pod_hub: PodHub) -> None:
    pod_hub.accounts_hub.clock.wait(days=300)
    assert refresh_all(pod_hub.accounts_hub.hub, 30)
    pod_hub.accounts_hub.clock.wait(days=-300)
    assert refresh_all(pod_hub.accounts_hub.hub, 30)


@pytest.mark.parametrize("error", [Unreachable("The cloud is down"), KeyError("a bug")])
def test_what_fails_is_logged_and_the_watch_continues(
    pod_hub: PodHub, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    pod_hub.arrive(pod_hub.rent(stopAt="2026-11-21T12:01:00Z"))
    look, failures = pod_hub.machines.inspect, [error]

    def fail_once(tags: Any) -> Any:
        if failures:
            raise failures.pop()
        return look(tags)

    pod_hub.machines.inspect = fail_once  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        PodWatcher(_nothing, pod_hub.accounts_hub.hub).watch(Rounds(pod_hub, 2))
    assert pod_hub.machines.seen == {}
    assert "`paper`" in caplog.text


def test_the_thread_lives_as_long_as_the_application(pod_hub: PodHub) -> None:
    pod_hub.arrive(pod_hub.rent())
    pod_hub.accounts_hub.clock.wait(days=2)
    gone = threading.Event()
    end = pod_hub.machines.end

    def note(tag: str) -> None:
        end(tag)
        gone.set()

    async def live(_scope: Any, _receive: Any, _send: Any) -> None:
        await asyncio.to_thread(gone.wait, 60)

    pod_hub.machines.end = note  # type: ignore[method-assign]
    served = PodWatcher(live, pod_hub.accounts_hub.hub, seconds=0.01)
    asyncio.run(served({"type": "lifespan"}, _unasked, _unasked))  # type: ignore[arg-type]
    assert pod_hub.machines.seen == {}


async def _unasked(*_args: Any) -> Any:
    raise AssertionError
