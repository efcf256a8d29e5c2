"""`prime pods list`, against a hub whose machines are on paper."""

import pytest

from tests.helpers.cli import Prime
from tests.helpers.completion import completed_names
from tests.hub.services.compute.renting import PodHub, wish


def test_pods_are_reported_with_their_price_and_deadline_and_what_they_cost_together(
    prime: Prime, pod_hub: PodHub
) -> None:
    first = pod_hub.rent(**wish(name="first"))
    pod_hub.accounts_hub.clock.wait(seconds=1)
    second = pod_hub.rent(**wish(name="second"))
    pod_hub.arrive(second)
    shown = prime("pods", "list").ok()
    header, *rows = shown.out.splitlines()
    assert header.split() == ["Name", "Id", "GPU", "Status", "Created", "Stops", "in", "$/h"]
    assert [row.split()[:2] for row in rows] == [
        ["first", first["id"][:8]],
        ["second", second["id"][:8]],
    ]
    assert "A100_80GB x1  PROVISIONING" in rows[0]
    assert rows[1].endswith("$1.65")
    assert " 1d " in rows[0]
    assert shown.err == "2 pods at $3.30/h together\n"


def test_the_json_has_the_names_of_the_official_client_and_ours_behind_them(
    prime: Prime, pod_hub: PodHub
) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    pod_hub.arrive(pod)
    page = prime("pods", "list", "--output", "json").ok().json
    assert page == {
        "pods": [
            {
                "id": pod["id"],
                "name": "web",
                "gpu": "A100_80GB x1",
                "status": "ACTIVE",
                "created_at": f"{pod_hub.accounts_hub.clock.now:%Y-%m-%dT%H:%M:%SZ}",
                "stop_at": page["pods"][0]["stop_at"],
                "price_per_hour": 1.65,
                "nodes": 1,
            }
        ],
        "total_count": 1,
        "offset": 0,
        "limit": 100,
    }


def test_a_page_says_how_to_turn_it(prime: Prime, pod_hub: PodHub) -> None:
    for number in range(3):
        pod_hub.rent(**wish(name=f"pod-{number}"))
    shown = prime("pods", "list", "--limit", "2").ok()
    assert len(shown.out.splitlines()) == 3
    assert "1 more with `--offset 2`" in shown.err
    page = prime("pods", "list", "--offset", "2", "--output", "json").ok().json
    assert (len(page["pods"]), page["total_count"], page["offset"]) == (1, 3, 2)


def test_plain_has_whole_ids(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    assert prime("pods", "list", "--output", "plain").ok().out.split("\t")[:2] == ["web", pod["id"]]


def test_names_and_ids_are_completed_until_the_pods_are_gone(prime: Prime, pod_hub: PodHub) -> None:
    pod = pod_hub.rent(**wish(name="web"))
    prime("pods", "list").ok()
    assert completed_names("pods") == ["web", pod["id"]]
    pod_hub.machines.end(pod_hub.tag(pod))
    pod_hub.accounts_hub.clock.wait(minutes=2)
    prime("pods", "list").ok()
    assert completed_names("pods") == []


def test_without_pods_the_next_step_is_named(prime: Prime) -> None:
    assert "`prime availability list`" in prime("pods", "list").ok().err


def test_watching_has_no_single_json_document(prime: Prime) -> None:
    refused = prime("pods", "list", "--watch", "--output", "json")
    assert refused.code == 2
    assert "--output jsonl" in refused.err


@pytest.mark.parametrize("word", ["pod", "pods"])
def test_pod_is_pods(prime: Prime, word: str) -> None:
    assert prime(word, "ls", "--output", "json").ok().json["pods"] == []
