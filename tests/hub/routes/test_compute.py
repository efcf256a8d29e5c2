import httpx

API = "/api/v1"


def test_lists_of_disks_are_empty_pages(client: httpx.Client) -> None:
    page = client.get(f"{API}/disks?offset=5&limit=10").json()
    assert page == {"data": [], "total_count": 0, "offset": 5, "limit": 10}


def test_disk_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    assert client.get(f"{API}/disks/disk_1").status_code == 404
    assert client.delete(f"{API}/disks/disk_1").status_code == 404
