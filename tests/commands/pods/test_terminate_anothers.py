"""`prime pods terminate` of a pod that is another's, by an admin of the hub and by others."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from prime_cli.hub.services.users import create_user
from tests.commands.pods.stubborn import Stubborn
from tests.helpers.cli import Prime
from tests.hub.accounts_hub import OPERATOR
from tests.hub.services.compute.renting import PodHub, wish

As = Callable[..., Prime]


@pytest.fixture
def olga(pod_hub: PodHub, as_user: As) -> Prime:
    """`prime` of an admin of the hub, who rents nothing."""
    create_user(pod_hub.accounts_hub.hub, OPERATOR, "olga", admin=True)
    return as_user("olga", scope="admin")


def test_an_admin_terminates_it_by_its_full_id_and_sees_its_owner(
    olga: Prime, pod_hub: PodHub
) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    refused = olga("pods", "terminate", pod["id"])
    assert refused.code == 2
    assert "web of ada: A100_80GB x1, PROVISIONING, " in refused.err
    assert "Terminate `web` of `ada` and all data on it?" in refused.err
    assert len(pod_hub.pods()) == 1
    ended = olga("pods", "terminate", pod["id"], "--yes", "--output", "json").ok()
    (record,) = ended.json["pods"]
    assert (record["id"], record["owner"], record["status"]) == (pod["id"], "ada", "TERMINATED")
    assert pod_hub.machines.seen == {}
    again = olga("pods", "terminate", pod["id"], "--yes").ok()
    assert again.err.splitlines() == ["`web` of `ada` has already been terminated"]


def test_its_name_and_the_beginning_of_its_id_find_nothing(olga: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    for word in ("web", pod["id"][:8]):
        assert olga("pods", "terminate", word, "--yes").code == 6
    for command in ("status", "ssh", "logs"):
        assert olga("pods", command, pod["id"]).code == 6
    assert len(pod_hub.pods()) == 1


def test_it_is_waited_for_though_no_list_shows_it(
    olga: Prime, pod_hub: PodHub, machines: Stubborn, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = pod_hub.rent(**wish(name="slow"))
    machines.lingering.add("slow")
    look = machines.inspect
    looks = iter([False, False, True])

    def look_thrice(tags: list[str]) -> object:
        if next(looks, True):
            machines.seen.clear()
        return look(tags)

    leaving = olga("pods", "terminate", pod["id"], "--yes", "--no-wait").ok()
    assert "`slow` of `ada` is being terminated" in leaving.err
    monkeypatch.setattr(machines, "inspect", look_thrice)
    assert "`slow` of `ada` is gone" in olga("pods", "terminate", pod["id"], "--yes").ok().err


def test_the_question_about_several_names_the_owners_of_others(
    olga: Prime, pod_hub: PodHub
) -> None:
    pods = [
        pod_hub.rent(**wish(name="web")),
        pod_hub.rent(pod_hub.tenant("bob", 2), **wish(name="api")),
    ]
    refused = olga("pods", "terminate", *(pod["id"] for pod in pods))
    assert "Terminate 2 pods, those of `ada`, `bob` among them, and all" in refused.err


def test_for_anybody_else_it_does_not_exist(as_user: As, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    pod_hub.tenant("eve", 2)
    for rights in ({}, {"scope": "admin"}):
        assert as_user("eve", **rights)("pods", "terminate", pod["id"], "--yes").code == 6
    create_user(pod_hub.accounts_hub.hub, OPERATOR, "olga", admin=True)
    assert as_user("olga", scope="write")("pods", "terminate", pod["id"], "--yes").code == 6
    assert len(pod_hub.pods()) == 1


def test_gc_of_an_admin_finds_resources_of_others_and_names_their_owner(
    olga: Prime, pod_hub: PodHub
) -> None:
    pod = pod_hub.rent(**wish(name="late"))
    pod_hub.arrive(pod)
    pod_hub.accounts_hub.clock.now += timedelta(days=2)
    refused = olga("gc")
    assert refused.code == 2
    assert f"pod past its deadline: late of ada at paper ({pod['id']})" in refused.err
    assert olga("gc", "--yes", "-o", "json").ok().json["leaks"][0]["ended"]
    assert pod_hub.machines.seen == {}
