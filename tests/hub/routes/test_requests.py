"""Bodies that no route should have to read."""

import gzip

import httpx

from tests.hub.pushing import HUB


def test_compressed_body_is_refused(client: httpx.Client) -> None:
    bomb = gzip.compress(b"[" * 1_000_000)
    headers = {"content-encoding": "gzip"}
    answer = client.post(f"{HUB}/resolve", content=bomb, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "usage")
    assert answer.json()["detail"] == "The body is encoded as `gzip`"


def test_body_that_says_it_is_too_long_is_refused_unread(client: httpx.Client) -> None:
    headers = {"content-length": str(1024**4)}
    answer = client.post(f"{HUB}/resolve", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_body_that_is_longer_than_allowed_is_refused(client: httpx.Client) -> None:
    answer = client.post(f"{HUB}/resolve", content=iter([b" " * 1024**2] * 17))
    assert answer.status_code == 413


def test_json_that_is_nested_deeply_is_refused(client: httpx.Client) -> None:
    for levels in (101, 400, 100_000):
        body = '{"name":' + "[" * levels + "]" * levels + "}"
        answer = client.post(f"{HUB}/resolve", content=body)
        assert answer.status_code == 422, levels
