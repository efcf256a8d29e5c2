"""Evaluations as plain requests."""

import json
from collections.abc import Sequence
from typing import Any

import httpx

EVALUATIONS = "/api/v1/evaluations"

Samples = Sequence[dict[str, Any]]


def create(client: httpx.Client, key: str | None = None, **said: Any) -> httpx.Response:
    """Of `ada/word`, unless something else is said."""
    body = {"name": "a run", "environments": [{"id": "ada/word"}], "tags": []} | said
    headers = {"idempotency-key": key} if key else {}
    return client.post(f"{EVALUATIONS}/", json=body, headers=headers)


def made(client: httpx.Client, **said: Any) -> str:
    """The id of a new evaluation."""
    answer = create(client, **said)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["evaluation_id"])


def push(client: httpx.Client, evaluation: str, samples: Samples) -> httpx.Response:
    return push_bytes(client, evaluation, json.dumps({"samples": samples}).encode())


def push_bytes(client: httpx.Client, evaluation: str, content: bytes) -> httpx.Response:
    return client.post(f"{EVALUATIONS}/{evaluation}/samples", content=content)


def finalize(client: httpx.Client, evaluation: str, **metrics: Any) -> httpx.Response:
    return client.post(f"{EVALUATIONS}/{evaluation}/finalize", json={"metrics": metrics})


def change(client: httpx.Client, evaluation: str, **said: Any) -> httpx.Response:
    return client.put(f"{EVALUATIONS}/{evaluation}", json=said)


def finished(client: httpx.Client, samples: Samples, **said: Any) -> str:
    """The id of an evaluation with `samples` that is complete."""
    evaluation = made(client, **said)
    assert push(client, evaluation, samples).status_code == 200
    assert finalize(client, evaluation).status_code == 200
    return evaluation


def show(client: httpx.Client, evaluation: str) -> Any:
    """The JSON of an evaluation."""
    return client.get(f"{EVALUATIONS}/{evaluation}").raise_for_status().json()


def page(client: httpx.Client, evaluation: str, query: str = "") -> Any:
    """The JSON of a page of samples."""
    answer = client.get(f"{EVALUATIONS}/{evaluation}/samples?{query}")
    return answer.raise_for_status().json()


def samples_of(client: httpx.Client, evaluation: str, query: str = "limit=1000") -> Any:
    return page(client, evaluation, query)["samples"]


def listed(client: httpx.Client, query: str = "") -> list[str]:
    """The names of a list, in its order; there are as many as it says."""
    answer = client.get(f"{EVALUATIONS}/?{query}").raise_for_status().json()
    if "limit" not in query:
        assert answer["total"] == len(answer["evaluations"])
    return [each["name"] for each in answer["evaluations"]]
