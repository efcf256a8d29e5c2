"""Whoever reads pods is shown what their provider sees."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import PrimeError, Unreachable
from prime_cli.hub.compute.provider import PodSpec, PodStatus, SshAddress
from prime_cli.hub.services.audit import list_entries
from prime_cli.wire.pods import ACTIVE, DELETING
from tests.helpers.machines import Machines
from tests.hub.accounts_hub import AccountsHub, actions
from tests.hub.services.compute.renting import API, PodHub, wish


def fail(*_args: Any) -> Any:
    raise Unreachable("The cloud is down")


class Killed(BaseException):
    """The process ends here."""


def test_a_pod_is_installing_until_it_is_done(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus(ACTIVE, progress=40)
    shown = pod_hub.pod(pod["id"])
    assert (shown["status"], shown["installationStatus"]) == ("ACTIVE", "ACTIVE")
    assert shown["installationProgress"] == 40


def test_several_nodes_have_an_address_each(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    where = (SshAddress("u", "192.0.2.1"), SshAddress("u", "192.0.2.2", 2200))
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus(
        ACTIVE, addresses=where, host_keys=("ssh-ed25519 A",)
    )
    shown = pod_hub.pod(pod["id"])
    assert shown["ip"] == ["192.0.2.1", "192.0.2.2"]
    assert shown["sshConnection"] == ["u@192.0.2.1 -p 22", "u@192.0.2.2 -p 2200"]
    assert shown["primePortMapping"][1]["external"] == "2200"
    assert shown["hostKeys"] == ["ssh-ed25519 A"]


def test_the_path_of_an_ssh_config_stays_on_the_machine(pod_hub: PodHub, tmp_path: Path) -> None:
    pod = pod_hub.rent()
    where = SshAddress("u", "192.0.2.1", config=str(tmp_path / "config"))
    pod_hub.machines.arrive(pod_hub.tag(pod), where)
    assert pod_hub.pod(pod["id"])["sshConfig"] is None
    assert str(tmp_path / "config") not in pod_hub.ada.get(f"{API}/pods").text


def test_states_are_in_the_order_that_was_requested(pod_hub: PodHub) -> None:
    first, second = pod_hub.rent(), pod_hub.rent()
    pod_hub.arrive(second)
    query = "&".join(f"pod_ids={each}" for each in (second["id"], "absent", first["id"]))
    states = pod_hub.ada.get(f"{API}/pods/status?{query}").json()["data"]
    assert [(state["podId"], state["status"]) for state in states] == [
        (second["id"], "ACTIVE"),
        (first["id"], "PROVISIONING"),
    ]
    assert states[0]["sshConnection"] == "root@192.0.2.10 -p 2222"


def test_lists_are_newest_first_and_paged(pod_hub: PodHub) -> None:
    ids = []
    for _ in range(3):
        ids.append(pod_hub.rent()["id"])
        pod_hub.accounts_hub.clock.wait(seconds=1)
    assert pod_hub.pods() == ids[::-1]
    page = pod_hub.ada.get(f"{API}/pods?offset=1&limit=1").json()
    assert [pod["id"] for pod in page["data"]] == [ids[1]]
    assert (page["total_count"], page["offset"], page["limit"]) == (3, 1, 1)


def test_a_pod_that_ended_by_itself_is_terminated(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.arrive(pod)
    pod_hub.pods()
    pod_hub.accounts_hub.clock.wait(minutes=5)
    pod_hub.machines.seen.clear()
    assert pod_hub.pods() == []
    assert pod_hub.pod(pod["id"])["status"] == "TERMINATED"


def test_a_pod_that_its_provider_ended_in_time_ended_at_its_deadline(pod_hub: PodHub) -> None:
    pod_hub.arrive(pod_hub.rent())
    pod_hub.pods()
    pod_hub.machines.seen.clear()
    pod_hub.accounts_hub.clock.wait(days=3)
    [past] = pod_hub.history()
    assert past["terminatedAt"] == "2026-11-22T12:00:00.000000Z"
    assert past["totalBilledPrice"] == pytest.approx(24 * 1.65)


def test_a_pod_that_was_not_refreshed_before_its_deadline_is_not_a_failure(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.end(pod_hub.tag(pod))
    pod_hub.accounts_hub.clock.wait(days=2)
    (past,) = pod_hub.history()
    assert (past["id"], past["terminatedAt"]) == (pod["id"], pod["stopAt"])
    assert pod_hub.ada.get(f"{API}/pods/{pod['id']}").json()["status"] == "TERMINATED"


def test_any_read_terminates_a_pod_past_its_deadline(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.arrive(pod)
    pod_hub.accounts_hub.clock.wait(hours=24)
    assert (pod_hub.pods(), pod_hub.machines.seen) == ([], {})
    entry = list_entries(pod_hub.accounts_hub.hub, action="pod.terminate")[0]
    assert (entry.actor, entry.target, entry.detail["why"]) == (
        "hub",
        pod["id"],
        "past its deadline",
    )


def test_a_pod_whose_maker_was_killed_before_it_began_is_an_error(folder: Path) -> None:
    class Killing(Machines):
        def start(self, order: PodSpec) -> None:
            half_made.add(order.tag)
            raise Killed

        def end(self, tag: str) -> None:
            half_made.remove(tag)

    half_made: set[str] = set()
    pod_hub = PodHub(folder, Killing())
    with pytest.raises(Killed):
        pod_hub.ada.post(f"{API}/pods", json=wish())
    assert len(pod_hub.pods()) == 1
    pod_hub.accounts_hub.clock.wait(seconds=59)
    [pod] = pod_hub.pods()
    pod_hub.accounts_hub.clock.wait(seconds=1)
    assert pod_hub.pods() == []
    shown = pod_hub.pod(pod)
    assert shown["status"] == "ERROR"
    assert "its creation was interrupted" in shown["installationFailure"]
    assert half_made == set()


def test_a_pod_survives_the_kill_of_its_creator(folder: Path) -> None:
    class Killing(Machines):
        def start(self, order: PodSpec) -> None:
            super().start(order)
            raise Killed

    pod_hub = PodHub(folder, Killing(at_once=True))
    with pytest.raises(Killed):
        pod_hub.ada.post(f"{API}/pods", json=wish())
    [pod] = pod_hub.pods()
    assert pod_hub.pod(pod)["status"] == "ACTIVE"


def test_a_restarted_hub_continues_with_running_pods(folder: Path, pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    key = pod_hub.accounts_hub.key("ada")
    pod_hub.arrive(pod)
    again = AccountsHub(folder, clock=pod_hub.accounts_hub.clock, providers=(pod_hub.machines,))
    shown = again.client(key).get(f"{API}/pods/{pod['id']}").json()
    assert (shown["status"], shown["sshConnection"]) == ("ACTIVE", "root@192.0.2.10 -p 2222")


def test_pods_of_a_provider_that_does_not_answer_stay_as_they_are(
    pod_hub: PodHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = pod_hub.rent()
    pod_hub.arrive(pod)
    pod_hub.pods()
    monkeypatch.setattr(pod_hub.machines, "inspect", fail)
    pod_hub.accounts_hub.clock.wait(hours=1)
    assert pod_hub.pod(pod["id"])["status"] == "ACTIVE"


def test_pods_of_a_provider_that_is_off_are_unknown_and_stay(folder: Path, pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    key = pod_hub.accounts_hub.key("ada")
    without = AccountsHub(folder, clock=pod_hub.accounts_hub.clock, providers=(Machines("other"),))
    ada = without.client(key)
    shown = ada.get(f"{API}/pods/{pod['id']}").json()
    assert shown["status"] == "UNKNOWN"
    assert "`paper` is not enabled" in shown["installationFailure"]
    refused = ada.delete(f"{API}/pods/{pod['id']}")
    assert (refused.status_code, "not enabled" in refused.json()["detail"]) == (403, True)
    assert pod_hub.pods() == [pod["id"]]


def test_a_pod_that_takes_its_time_to_end_is_listed_until_it_is_gone(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    tag = pod_hub.tag(pod)

    def begin(tag: str) -> None:
        pod_hub.machines.seen[tag] = replace(pod_hub.machines.seen[tag], status=DELETING)
        raise PrimeError("It goes on for long")

    pod_hub.machines.end = begin  # type: ignore[method-assign]
    assert pod_hub.ada.delete(f"{API}/pods/{pod['id']}").json() == {"status": "DELETING"}
    assert pod_hub.pod(pod["id"])["status"] == "DELETING"
    assert pod_hub.pods() == [pod["id"]]
    del pod_hub.machines.seen[tag]
    assert pod_hub.pods() == []
    assert pod_hub.pod(pod["id"])["status"] == "TERMINATED"


def test_a_pod_that_is_stuck_on_its_way_out_is_ended_again_at_its_deadline(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus(DELETING)
    assert pod_hub.pod(pod["id"])["status"] == "DELETING"
    pod_hub.accounts_hub.clock.wait(hours=23)
    assert pod_hub.pods() == [pod["id"]]
    pod_hub.accounts_hub.clock.wait(hours=1)
    assert (pod_hub.pods(), pod_hub.machines.seen) == ([], {})


def test_a_failed_termination_is_reported_and_retried(
    pod_hub: PodHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = pod_hub.rent()
    monkeypatch.setattr(pod_hub.machines, "end", fail)
    answer = pod_hub.ada.delete(f"{API}/pods/{pod['id']}")
    assert (answer.status_code, answer.json()["detail"]) == (503, "The cloud is down")
    shown = pod_hub.pod(pod["id"])
    assert (shown["status"], shown["installationFailure"]) == ("DELETING", "The cloud is down")
    monkeypatch.undo()
    assert (pod_hub.pods(), pod_hub.machines.seen) == ([], {})


def test_a_pod_ended_while_it_began_leaves_nothing(folder: Path) -> None:
    class Slow(Machines):
        def start(self, order: PodSpec) -> None:
            ended = pod_hub.ada.delete(f"{API}/pods/{order.pod_id}")
            assert ended.json() == {"status": "TERMINATED"}
            super().start(order)

    pod_hub = PodHub(folder, Slow())
    answer = pod_hub.ada.post(f"{API}/pods", json=wish())
    assert (answer.status_code, "terminated while it started" in answer.json()["detail"]) == (
        409,
        True,
    )
    assert (pod_hub.machines.seen, pod_hub.pods()) == ({}, [])


def test_to_end_a_pod_twice_is_the_same_as_once(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    for _ in range(2):
        assert pod_hub.ada.delete(f"{API}/pods/{pod['id']}").json() == {"status": "TERMINATED"}
    done = actions(list_entries(pod_hub.accounts_hub.hub, action="pod."))
    assert done == [("ada", "pod.create", pod["id"]), ("ada", "pod.terminate", pod["id"])]


def test_the_log_has_the_last_lines(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    assert pod_hub.ada.get(f"{API}/pods/{pod['id']}/log").json() == {"logs": "booting\nready"}
    assert pod_hub.ada.get(f"{API}/pods/{pod['id']}/log?tail=1").json() == {"logs": "ready"}


def test_a_pod_costs_no_less_than_nothing_where_a_clock_was_set_back(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.accounts_hub.clock.wait(hours=-2)
    pod_hub.ada.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    [past] = pod_hub.history()
    assert (past["totalBilledPrice"], past["terminatedAt"]) == (0, pod["createdAt"])


def test_the_history_is_in_the_order_that_is_requested(pod_hub: PodHub) -> None:
    first = pod_hub.rent()
    pod_hub.accounts_hub.clock.wait(seconds=1)
    second = pod_hub.rent()
    for pod in (second, first):
        pod_hub.accounts_hub.clock.wait(seconds=1)
        pod_hub.ada.delete(f"{API}/pods/{pod['id']}").raise_for_status()

    def ids(query: str) -> list[str]:
        return [past["id"] for past in pod_hub.history(query=query)]

    by_end = [first["id"], second["id"]]
    assert ids("") == ids("?sort_by=terminatedAt&sort_order=desc") == by_end
    assert ids("?sort_order=asc") == ids("?sort_by=createdAt") == by_end[::-1]
    assert ids("?sort_by=createdAt&sort_order=asc") == by_end
    assert ids("?limit=1&offset=1") == by_end[1:]
    assert pod_hub.ada.get(f"{API}/pods/history?sort_by=name").status_code == 422


def test_what_a_provider_says_cannot_hide_a_pod(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    pod_hub.machines.seen[pod_hub.tag(pod)] = PodStatus(
        "INIT", failure="bad\0\udc80" + "x" * 10_000
    )
    shown = pod_hub.pod(pod["id"])
    assert shown["status"] == "UNKNOWN"
    assert shown["installationFailure"] == r"bad\udc80" + "x" * 3991
