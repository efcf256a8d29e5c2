"""A pod from its beginning to its end, as its user sees it."""

from prime_cli.core.errors import Conflict
from tests.hub.services.compute.renting import API, PodHub, wish


def test_pod_is_made_comes_up_and_is_given_back(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    assert (pod["status"], pod["gpuName"], pod["gpuCount"]) == ("PROVISIONING", "A100_80GB", 1)
    assert (pod["priceHr"], pod["name"], pod["sshConnection"]) == (1.65, "trainer", None)

    pod_hub.arrive(pod)
    up = pod_hub.pod(pod["id"])
    assert (up["status"], up["installationStatus"]) == ("ACTIVE", "FINISHED")
    assert up["sshConnection"] == "root@192.0.2.10 -p 2222"
    assert up["ip"] == "192.0.2.10"
    assert pod_hub.pods() == [pod["id"]]

    pod_hub.accounts_hub.clock.wait(hours=2)
    assert pod_hub.ada.delete(f"{API}/pods/{pod['id']}").json() == {"status": "TERMINATED"}
    assert (pod_hub.pods(), pod_hub.machines.seen) == ([], {})
    [past] = pod_hub.history()
    assert (past["id"], past["provisionedBy"], past["totalBilledPrice"]) == (pod["id"], "ada", 3.3)


def test_pod_that_cannot_begin_leaves_nothing_but_the_reason(pod_hub: PodHub) -> None:
    pod_hub.machines.refusal = Conflict("All machines are taken")
    answer = pod_hub.ada.post(f"{API}/pods", json=wish())
    assert (answer.status_code, answer.json()["detail"]) == (409, "All machines are taken")
    assert pod_hub.pods() == []
    [past] = pod_hub.history()
    ended = pod_hub.pod(past["id"])
    assert (ended["status"], ended["installationFailure"]) == ("ERROR", "All machines are taken")
