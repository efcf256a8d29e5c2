"""`prime pods terminate`, against a hub whose machines are on paper."""

from pathlib import Path

import pytest

from tests.commands.pods.stubborn import Stubborn
from tests.helpers.cli import Prime
from tests.helpers.completion import completed_names
from tests.hub.services.compute.renting import PodHub, wish


def test_a_lost_billed_pod_is_reported_and_waited_for(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    prime("pods", "list").ok()
    shown = prime("pods", "terminate", "web", "--yes").ok()
    assert "web: A100_80GB x1, PROVISIONING, " in shown.err
    assert "so far" in shown.err
    assert "`web` is gone, after about $0.00" in shown.err
    assert pod_hub.machines.seen == {}
    assert pod_hub.pods() == []
    assert [each["id"] for each in pod_hub.history()] == [pod["id"]]
    assert completed_names("pods") == []


def test_without_a_person_to_ask_it_is_refused(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    refused = prime("pods", "terminate", "web")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert len(pod_hub.pods()) == 1


def test_several_go_at_once_and_one_named_twice_goes_once(prime: Prime, pod_hub: PodHub) -> None:
    first, second = (pod_hub.rent(**wish(name=name)) for name in ("first", "second"))
    words = ("first", first["id"], "second")
    ended = prime("pods", "terminate", *words, "--yes", "--output", "json").ok().json["pods"]
    assert [(each["id"], each["status"], each["error"]) for each in ended] == [
        (first["id"], "TERMINATED", None),
        (second["id"], "TERMINATED", None),
    ]


def test_ending_what_has_ended_is_not_a_failure(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    prime("pods", "terminate", "web", "--yes").ok()
    again = prime("pods", "terminate", "web").ok()
    assert again.err.splitlines() == ["`web` has already been terminated"]


def test_a_pod_that_never_was_is_not_found(prime: Prime) -> None:
    assert prime("pods", "terminate", "web", "--yes").code == 6


def test_a_word_for_no_key_does_not_protect_others(prime: Prime, pod_hub: PodHub) -> None:
    pod_hub.rent(**wish(name="web"))
    shown = prime("pods", "terminate", "nothing", "web", "--yes")
    assert shown.code == 6
    # Said before the others are asked about.
    first, *_ = shown.err.splitlines()
    assert first == "warning: No pod `nothing` on hub.local"
    assert shown.err.count("`nothing`") == 1
    assert "1 of 2 pods could not be terminated" in shown.err
    assert pod_hub.pods() == []


@pytest.mark.parametrize("command", ["terminate", "ssh", "status", "logs"])
def test_a_name_that_two_pods_have_lists_both(prime: Prime, pod_hub: PodHub, command: str) -> None:
    pods = [pod_hub.rent(**wish(name="web")) for _ in range(2)]
    refused = prime("pods", command, "web")
    assert refused.code == 2
    assert "`web` matches 2 pods" in refused.err
    for pod in pods:
        assert f"  {pod['id']}  A100_80GB x1, PROVISIONING, made 20" in refused.err
    assert "hint: use the pod's id" in refused.err


def test_such_a_name_among_others_lists_them_too(prime: Prime, pod_hub: PodHub) -> None:
    pods = [pod_hub.rent(**wish(name=name)) for name in ("web", "web", "api")]
    shown = prime("pods", "terminate", "web", "api", "--yes")
    assert shown.code == 2
    assert f"  {pods[1]['id']}  A100_80GB x1" in shown.err
    assert sorted(pod_hub.pods()) == sorted(pod["id"] for pod in pods[:2])


def test_what_fails_for_one_is_reported_and_the_others_are_ended(
    prime: Prime, pod_hub: PodHub, machines: Stubborn
) -> None:
    for name in ("first", "second"):
        pod_hub.rent(**wish(name=name))
    machines.stuck.add("first")
    shown = prime("pods", "terminate", "first", "second", "--yes")
    assert shown.code == 4
    assert "`second` is gone" in shown.err
    assert "The cloud of `paper` takes this key no more" in shown.err
    assert "1 of 2 pods could not be terminated" in shown.err
    assert [order.name for order in machines.started.values()] == ["first", "second"]
    assert len(machines.seen) == 1


def test_a_caller_may_return_before_it_is_gone(
    prime: Prime, pod_hub: PodHub, machines: Stubborn
) -> None:
    pod_hub.rent(**wish(name="web"))
    machines.lingering.add("web")
    shown = prime("pods", "terminate", "web", "--yes", "--no-wait").ok()
    assert "`web` is being terminated" in shown.err
    assert prime("pods", "list", "-o", "json").ok().json["pods"][0]["status"] == "DELETING"


def test_aliases_and_host_keys_of_a_pod_go_with_it(
    prime: Prime, pod_hub: PodHub, home: Path
) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    host_keys = home / ".prime" / "ssh" / "known_hosts" / pod["id"]
    host_keys.parent.mkdir(parents=True)
    host_keys.write_text("prime-web ssh-ed25519 AAAA\n", encoding="utf-8")
    prime("pods", "terminate", "web", "--yes").ok()
    assert not host_keys.exists()
