import httpx
import pytest

from tests.hub.services.compute.renting import wish

API = "/api/v1"


@pytest.mark.parametrize("path", ["pods", "pods/history"])
def test_lists_of_pods_are_empty_pages(client: httpx.Client, path: str) -> None:
    page = client.get(f"{API}/{path}?offset=5&limit=10").json()
    assert page == {"data": [], "total_count": 0, "offset": 5, "limit": 10}


def test_states_are_of_pods_that_are_there(client: httpx.Client) -> None:
    assert client.get(f"{API}/pods/status?pod_ids=a&pod_ids=b").json() == {"data": []}


def test_pod_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    assert client.get(f"{API}/pods/pod_1").status_code == 404
    assert client.get(f"{API}/pods/pod_1/log").status_code == 404
    assert client.delete(f"{API}/pods/pod_1").status_code == 404


def test_renting_says_that_there_is_nothing_to_rent(client: httpx.Client) -> None:
    refused = client.post(f"{API}/pods", json=wish())
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This hub offers no machines"


def test_hub_without_machines_does_not_announce_pods(client: httpx.Client) -> None:
    assert "pods" not in client.get(f"{API}/capabilities").json()["features"]
