import httpx
import pytest

API = "/api/v1"


@pytest.mark.parametrize("path", ["gpus", "multi-node", "disks"])
def test_pages_of_offers_are_empty_and_end(client: httpx.Client, path: str) -> None:
    answer = client.get(f"{API}/availability/{path}?page=1&page_size=100")
    assert answer.json() == {"items": [], "totalCount": 0}


@pytest.mark.parametrize("path", ["", "/clusters", "/gpu-summary"])
def test_offers_by_type_are_an_empty_object(client: httpx.Client, path: str) -> None:
    assert client.get(f"{API}/availability{path}").json() == {}


@pytest.mark.parametrize("path", ["pods", "pods/history", "disks"])
def test_lists_of_machines_are_empty_pages(client: httpx.Client, path: str) -> None:
    page = client.get(f"{API}/{path}?offset=5&limit=10").json()
    assert page == {"data": [], "total_count": 0, "offset": 5, "limit": 10}


def test_states_are_of_pods_that_are_there(client: httpx.Client) -> None:
    assert client.get(f"{API}/pods/status?pod_ids=a&pod_ids=b").json() == {"data": []}


@pytest.mark.parametrize("path", ["pods/pod_1", "disks/disk_1"])
def test_machine_that_is_not_there_is_not_found(client: httpx.Client, path: str) -> None:
    assert client.get(f"{API}/{path}").status_code == 404
    assert client.delete(f"{API}/{path}").status_code == 404


def test_renting_says_that_there_is_nothing_to_rent(client: httpx.Client) -> None:
    refused = client.post(f"{API}/pods", json={"pod": {"name": "x"}})
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This hub has no machines to rent"
