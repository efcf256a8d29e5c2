"""A pod that is down and could go on is told so by whoever looks, unless it is to end."""

from datetime import UTC, datetime
from typing import Any

from prime_cli.core.errors import StorageFailed, Unreachable
from prime_cli.hub.compute.provider import PodStatus, SshAddress
from prime_cli.wire.pods import ACTIVE, PROVISIONING
from tests.hub.services.compute.renting import API, PodHub

DOWN = PodStatus(PROVISIONING, progress=0, is_resumable=True)
AGAIN = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)


def test_a_refresh_restarts_it_and_reports_when(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.arrive(pod)
    assert pod_hub.pod(pod["id"])["startedAgain"] is None
    pod_hub.machines.seen[pod_hub.tag(pod)] = DOWN
    assert pod_hub.pod(pod["id"])["status"] == "PROVISIONING"
    assert pod_hub.machines.resumed == [pod_hub.tag(pod)]
    where = (SshAddress("u", "192.0.2.9", 2222),)
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus(
        ACTIVE, addresses=where, started_again=AGAIN
    )
    shown = pod_hub.pod(pod["id"])
    assert (shown["status"], shown["startedAgain"]) == ("ACTIVE", "2026-11-21T12:05:00.000000Z")
    assert shown["sshConnection"] == "u@192.0.2.9 -p 2222"
    assert pod_hub.machines.resumed == [pod_hub.tag(pod)]


def test_one_that_cannot_be_started_says_why_and_is_tried_again(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.seen[pod_hub.tag(pod)] = DOWN
    pod_hub.machines.refusal = StorageFailed("The disk is full")
    shown = pod_hub.pod(pod["id"])
    assert (shown["status"], shown["installationFailure"]) == ("ERROR", "The disk is full")
    pod_hub.machines.refusal = None
    assert pod_hub.pod(pod["id"])["status"] == "PROVISIONING"
    assert len(pod_hub.machines.resumed) == 2


def test_one_that_is_past_its_deadline_ends(pod_hub: PodHub) -> None:
    pod_hub.machines.seen[pod_hub.tag(pod_hub.rent())] = DOWN
    pod_hub.accounts_hub.clock.wait(hours=24)
    assert pod_hub.pods() == []
    assert (pod_hub.machines.resumed, pod_hub.machines.seen) == ([], {})


def test_one_that_was_to_end_ends(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    end = pod_hub.machines.end

    def fail(tag: str) -> Any:
        raise Unreachable("The hub is killed here")

    pod_hub.machines.end = fail  # type: ignore[method-assign]
    assert not pod_hub.ada.delete(f"{API}/pods/{pod['id']}").is_success
    pod_hub.machines.seen[pod_hub.tag(pod)] = DOWN
    pod_hub.machines.end = end  # type: ignore[method-assign]
    assert pod_hub.pods() == []
    assert (pod_hub.machines.resumed, pod_hub.machines.seen) == ([], {})
