"""What may be asked for of a pod, and what is refused by its name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.compute.creation import MOST_PODS
from prime_cli.wire.offers import GpuOffer, Prices, Spec
from tests.helpers.machines import A100, SPOT, Machines
from tests.helpers.ssh_keys import line
from tests.hub.services.compute.renting import API, Yard, wish


def refusal(yard: Yard, status: int, **changes: Any) -> str:
    """The sentence, and hint, with which a request with `changes` of its pod is refused."""
    answer = yard.ada.post(f"{API}/pods", json=wish(**changes))
    assert answer.status_code == status, answer.text
    assert yard.machines.started == {}
    problem = answer.json()
    return f"{problem['detail']} · {problem.get('hint')}"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"customTemplateId": "t"}, "customTemplateId"),
        ({"jupyterPassword": "hunter2"}, "jupyterPassword"),
        ({"autoRestart": True}, "autoRestart"),
        ({"prepaidForHr": 5}, "prepaidForHr"),
        ({"image": "windows_95"}, "`windows_95` is not an image of this offer"),
        ({"diskSize": 119}, "`diskSize` of this offer is from 120 to 3000, not 119"),
        ({"diskSize": 3001}, "`diskSize` of this offer is from 120 to 3000, not 3001"),
        ({"vcpus": 15}, "`vcpus` cannot be chosen for this offer: it comes with 14"),
        ({"memory": 1}, "`memory` cannot be chosen"),
        ({"envVars": [{"key": "A-B", "value": "hunter2"}]}, "`A-B` is not a valid variable name"),
        ({"envVars": [{"key": "A", "value": "hunter2\0"}]}, "The value of `A` has a NUL"),
        ({"name": "a\nb"}, "name of a pod"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_by_name(
    yard: Yard, changes: dict[str, Any], named: str
) -> None:
    sentence = refusal(yard, 422, **changes)
    assert named in sentence
    assert "hunter2" not in sentence


@pytest.mark.parametrize(
    "changes",
    [
        {"cloudId": "gone"},
        {"gpuCount": 2},
        {"gpuType": "H100_80GB"},
        {"socket": "SXM5"},
        {"dataCenterId": "FIN-01"},
        {"country": "FI"},
        {"security": "community_cloud"},
    ],
)
def test_an_offer_that_is_gone_is_not_found(yard: Yard, changes: dict[str, Any]) -> None:
    assert "availability list" in refusal(yard, 404, **changes)


def test_an_offer_of_another_provider_is_not_meant(yard: Yard) -> None:
    answer = yard.ada.post(f"{API}/pods", json=wish() | {"provider": {"type": "sky"}})
    assert answer.status_code == 404


def test_an_offer_out_of_stock_is_a_conflict(yard: Yard) -> None:
    yard.machines.gpus = [msgspec.structs.replace(A100, stock_status="Unavailable")]
    assert "Sold out: `gpu_1x_a100`" in refusal(yard, 409)


def test_a_price_above_the_limit_is_refused(yard: Yard) -> None:
    assert "It costs 1.65 an hour, and `maxPrice` is 1.5" in refusal(yard, 409, maxPrice=1.5)
    assert yard.rent(**wish(maxPrice=1.65))["priceHr"] == 1.65


def test_a_price_that_nobody_knows_is_above_every_limit(yard: Yard) -> None:
    yard.machines.gpus = [msgspec.structs.replace(A100, prices=Prices())]
    assert "Nobody knows what it costs" in refusal(yard, 409, maxPrice=1.5)
    assert yard.rent()["priceHr"] is None


def test_a_provider_that_is_not_meant_is_not_asked(folder: Path) -> None:
    class Counting(Machines):
        asked = 0

        def offers(self) -> Sequence[GpuOffer]:
            Counting.asked += 1
            return super().offers()

    yard = Yard(folder, others=(Counting(name="slow"),))
    yard.rent()
    assert Counting.asked == 0


def test_an_image_that_no_offer_lists_is_for_the_provider_to_judge(yard: Yard) -> None:
    yard.machines.gpus = [msgspec.structs.replace(A100, images=())]
    pod = yard.rent(**wish(image="docker:nvidia/cuda"))
    (order,) = yard.machines.started.values()
    assert order.image == "docker:nvidia/cuda"
    assert pod["environmentType"] == "custom_template"


def test_what_is_taken_beyond_the_default_is_paid_by_the_unit(yard: Yard) -> None:
    assert yard.rent(**wish(diskSize=1120))["priceHr"] == pytest.approx(1.65 + 0.14)


def test_what_is_not_in_the_price_is_paid_from_the_first_unit(yard: Yard) -> None:
    disk = Spec(default_count=100, price_per_unit=0.01, default_included_in_price=False)
    yard.machines.gpus = [msgspec.structs.replace(A100, disk=disk)]
    assert yard.rent()["priceHr"] == pytest.approx(2.65)


def test_the_cheapest_of_several_offers_is_taken(yard: Yard) -> None:
    dearer = msgspec.structs.replace(
        A100, prices=msgspec.structs.replace(A100.prices, on_demand=9.0), data_center="X"
    )
    yard.machines.gpus = [dearer, A100]
    assert yard.rent()["priceHr"] == 1.65
    assert yard.rent(**wish(dataCenterId="X"))["priceHr"] == 9.0


def test_what_the_provider_cannot_do_is_refused_before_anything_is_written(yard: Yard) -> None:
    answer = yard.ada.post(f"{API}/pods", json=wish() | {"nodes": 2})
    assert (answer.status_code, "one at a time" in answer.json()["detail"]) == (422, True)
    assert (yard.pods(), yard.history()) == ([], [])


@pytest.mark.parametrize("nodes", [0, -1, 10**9])
def test_a_pod_has_at_least_one_node(yard: Yard, nodes: int) -> None:
    answer = yard.ada.post(f"{API}/pods", json=wish() | {"nodes": nodes})
    assert (answer.status_code, "`nodes`" in answer.json()["detail"]) == (422, True)


def test_an_order_has_all_that_was_asked_for(yard: Yard) -> None:
    variables = [{"key": "TOKEN", "value": "hunter2"}]
    image = "cuda_12_6_pytorch_2_7"
    pod = yard.rent(**wish(diskSize=200, image=image, envVars=variables, name="train"))
    [order] = yard.machines.started.values()
    assert (order.name, order.owner, order.pod_id) == ("train", "ada", pod["id"])
    assert (order.disk_size, order.image, order.variables) == (200, image, {"TOKEN": "hunter2"})
    assert order.authorized_keys == (line(1),)
    assert (pod["environmentType"], pod["resources"]["disk"]) == (image, 200)


def test_values_of_variables_are_the_providers_alone(folder: Path, yard: Yard) -> None:
    yard.rent(**wish(envVars=[{"key": "TOKEN", "value": "hunter2-secret"}]))
    with yard.house.hub.database.read() as connection:
        rows = connection.exec_driver_sql("SELECT request FROM pods").all()
    assert "TOKEN" in rows[0][0]
    assert "hunter2" not in str(rows)
    assert "hunter2" not in str(list_entries(yard.house.hub))
    assert "hunter2" not in repr(list(yard.machines.started.values()))


def test_a_pod_without_a_name_is_given_one(yard: Yard) -> None:
    pod = yard.rent(**wish(name=None))
    assert pod["name"] == f"pod-{pod['id'][:6]}"


@pytest.mark.parametrize(
    ("stop_at", "why"),
    [
        ("2026-11-21T11:59:59Z", "in the future"),
        ("2028-11-21T12:00:00Z", "in the future"),
        ("2026-11-22T12:00:00", "no time zone"),
        ("tomorrow", "not a time"),
    ],
)
def test_a_deadline_that_cannot_be_is_refused(yard: Yard, stop_at: str, why: str) -> None:
    answer = yard.ada.post(f"{API}/pods", json=wish() | {"stopAt": stop_at})
    assert (answer.status_code, why in answer.json()["detail"]) == (422, True)


def test_every_pod_has_a_deadline(yard: Yard) -> None:
    assert yard.rent()["stopAt"] == "2026-11-22T12:00:00.000000Z"
    pod = yard.rent(stopAt="2026-11-21T15:00:00+02:00")
    assert pod["stopAt"] == "2026-11-21T13:00:00.000000Z"


def test_one_user_has_a_limited_number_of_pods(yard: Yard) -> None:
    first, *_ = (yard.rent() for _ in range(MOST_PODS))
    answer = yard.ada.post(f"{API}/pods", json=wish())
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    yard.ada.delete(f"{API}/pods/{first['id']}").raise_for_status()
    yard.rent()


def test_without_any_public_key_a_pod_is_refused(yard: Yard) -> None:
    answer = yard.house.user("bob").post(f"{API}/pods", json=wish())
    assert answer.status_code == 422
    assert "prime ssh-keys add" in answer.json()["hint"]


def test_the_key_that_is_named_opens_the_pod_alone(yard: Yard) -> None:
    sent = {"name": "second", "publicKey": line(7)}
    second = yard.ada.post(f"{API}/ssh_keys", json=sent).raise_for_status().json()
    yard.rent(**wish(sshKeyId=second["id"]))
    [order] = yard.machines.started.values()
    assert order.authorized_keys == (line(7),)
    bob = yard.tenant("bob", 2)
    answer = bob.post(f"{API}/pods", json=wish(sshKeyId=second["id"]))
    assert answer.status_code == 404


def disk(yard: Yard) -> str:
    body = {"disk": {"size": 100, "name": "data"}, "provider": {"type": "paper"}}
    made = yard.ada.post(f"{API}/disks", json=body).raise_for_status().json()
    return str(made["id"])


def test_disks_are_attached_to_one_pod_at_a_time(yard: Yard) -> None:
    disk_id = disk(yard)
    pod = yard.rent(disks=[disk_id])
    [order] = yard.machines.started.values()
    [mount] = order.disks
    assert (mount.disk_id, mount.name, mount.tag in yard.machines.disks) == (disk_id, "data", True)
    [attached] = pod["attachedResources"]
    assert (attached["id"], attached["size"], attached["status"]) == (disk_id, 100, "ATTACHED")

    second = yard.ada.post(f"{API}/pods", json=wish() | {"disks": [disk_id]})
    assert (second.status_code, "attached to another pod" in second.json()["detail"]) == (409, True)
    yard.ada.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    assert yard.rent(disks=[disk_id])["attachedResources"][0]["id"] == disk_id


def test_a_disk_of_somebody_else_is_not_found(yard: Yard) -> None:
    bob = yard.tenant("bob", 2)
    answer = bob.post(f"{API}/pods", json=wish() | {"disks": [disk(yard)]})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_disk_of_another_provider_cannot_be_attached(folder: Path) -> None:
    elsewhere = msgspec.structs.replace(SPOT, provider="sky")
    yard = Yard(folder, others=(Machines("sky", [elsewhere], []),))
    answer = yard.ada.post(f"{API}/pods", json=wish(elsewhere) | {"disks": [disk(yard)]})
    assert (answer.status_code, "is of `paper`" in answer.json()["detail"]) == (422, True)
