"""A pod that is down and could go on is told so by whoever looks, unless it is to end."""

from datetime import UTC, datetime
from typing import Any

from prime_cli.core.errors import StorageFailed, Unreachable
from prime_cli.hub.compute.provider import PodStatus, SshAddress
from prime_cli.wire.pods import ACTIVE, PROVISIONING
from tests.hub.services.compute.renting import API, Yard

DOWN = PodStatus(PROVISIONING, progress=0, is_resumable=True)
AGAIN = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)


def test_whoever_looks_has_it_started_again_and_is_told_when_it_was(yard: Yard) -> None:
    pod = yard.rent()
    yard.arrive(pod)
    assert yard.pod(pod["id"])["startedAgain"] is None
    yard.machines.seen[yard.tag(pod)] = DOWN
    assert yard.pod(pod["id"])["status"] == "PROVISIONING"
    assert yard.machines.resumed == [yard.tag(pod)]
    where = (SshAddress("u", "192.0.2.9", 2222),)
    yard.machines.seen[yard.tag(pod)] = PodStatus(ACTIVE, addresses=where, started_again=AGAIN)
    shown = yard.pod(pod["id"])
    assert (shown["status"], shown["startedAgain"]) == ("ACTIVE", "2026-11-21T12:05:00.000000Z")
    assert shown["sshConnection"] == "u@192.0.2.9 -p 2222"
    assert yard.machines.resumed == [yard.tag(pod)]


def test_one_that_cannot_be_started_says_why_and_is_tried_again(yard: Yard) -> None:
    pod = yard.rent()
    yard.machines.seen[yard.tag(pod)] = DOWN
    yard.machines.refusal = StorageFailed("The disk is full")
    shown = yard.pod(pod["id"])
    assert (shown["status"], shown["installationFailure"]) == ("ERROR", "The disk is full")
    yard.machines.refusal = None
    assert yard.pod(pod["id"])["status"] == "PROVISIONING"
    assert len(yard.machines.resumed) == 2


def test_one_that_is_past_its_deadline_ends(yard: Yard) -> None:
    yard.machines.seen[yard.tag(yard.rent())] = DOWN
    yard.house.clock.wait(hours=24)
    assert yard.pods() == []
    assert (yard.machines.resumed, yard.machines.seen) == ([], {})


def test_one_that_was_to_end_ends(yard: Yard) -> None:
    pod = yard.rent()
    end = yard.machines.end

    def fail(tag: str) -> Any:
        raise Unreachable("The hub is killed here")

    yard.machines.end = fail  # type: ignore[method-assign]
    assert not yard.ada.delete(f"{API}/pods/{pod['id']}").is_success
    yard.machines.seen[yard.tag(pod)] = DOWN
    yard.machines.end = end  # type: ignore[method-assign]
    assert yard.pods() == []
    assert (yard.machines.resumed, yard.machines.seen) == ([], {})
