import httpx
import pytest

API = "/api/v1"


@pytest.mark.parametrize("path", ["gpus", "multi-node", "disks"])
def test_pages_of_offers_are_empty_and_end(client: httpx.Client, path: str) -> None:
    answer = client.get(f"{API}/availability/{path}?page=1&page_size=100")
    assert answer.json() == {"items": [], "totalCount": 0}


@pytest.mark.parametrize("path", ["", "/clusters", "/gpu-summary", "/multi-node-summary"])
def test_offers_by_type_are_an_empty_object(client: httpx.Client, path: str) -> None:
    assert client.get(f"{API}/availability{path}").json() == {}
