"""A pod from its beginning to its end, as its user sees it."""

from prime_cli.core.errors import Conflict
from tests.hub.services.compute.renting import API, Yard, wish


def test_pod_is_made_comes_up_and_is_given_back(yard: Yard) -> None:
    pod = yard.rent()
    assert (pod["status"], pod["gpuName"], pod["gpuCount"]) == ("PROVISIONING", "A100_80GB", 1)
    assert (pod["priceHr"], pod["name"], pod["sshConnection"]) == (1.65, "trainer", None)

    yard.arrive(pod)
    up = yard.pod(pod["id"])
    assert (up["status"], up["installationStatus"]) == ("ACTIVE", "FINISHED")
    assert up["sshConnection"] == "root@192.0.2.10 -p 2222"
    assert up["ip"] == "192.0.2.10"
    assert yard.pods() == [pod["id"]]

    yard.house.clock.wait(hours=2)
    assert yard.ada.delete(f"{API}/pods/{pod['id']}").json() == {"status": "TERMINATED"}
    assert (yard.pods(), yard.machines.seen) == ([], {})
    [past] = yard.history()
    assert (past["id"], past["provisionedBy"], past["totalBilledPrice"]) == (pod["id"], "ada", 3.3)


def test_pod_that_cannot_begin_leaves_nothing_but_the_reason(yard: Yard) -> None:
    yard.machines.refusal = Conflict("All machines are taken")
    answer = yard.ada.post(f"{API}/pods", json=wish())
    assert (answer.status_code, answer.json()["detail"]) == (409, "All machines are taken")
    assert yard.pods() == []
    [past] = yard.history()
    ended = yard.pod(past["id"])
    assert (ended["status"], ended["installationFailure"]) == ("ERROR", "All machines are taken")
