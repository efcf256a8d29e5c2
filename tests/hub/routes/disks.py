"""Asking for disks, as whoever holds a key does."""

from typing import Any

import httpx

API = "/api/v1"


def create(client: httpx.Client, size: int = 100, **more: Any) -> dict[str, Any]:
    answer = ask(client, size, **more)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def ask(
    client: httpx.Client, size: int = 100, team: str | None = None, **more: Any
) -> httpx.Response:
    body = {
        "disk": {"size": size, "name": None, "country": None, **more},
        "provider": {},
        "team": {"teamId": team} if team else None,
    }
    return client.post(f"{API}/disks", json=body)


def listed(client: httpx.Client) -> list[str]:
    page = client.get(f"{API}/disks").json()
    assert page["total_count"] == len(page["data"])
    return [f"{disk['name']} {disk['status']}" for disk in page["data"]]
