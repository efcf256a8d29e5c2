"""Sandboxes of a hub, as its client asks for them."""

import httpx

from prime_cli.api.client import HubClient
from prime_cli.wire.sandboxes import SandboxCreation


def test_a_plan_is_waited_for_as_long_as_a_cluster_may_be_tried() -> None:
    waits: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        waits.append(request.extensions["timeout"]["read"])
        plan = {"provider": "kubernetes", "image": "x", "network": "none", "reached": []}
        return httpx.Response(200, json={**plan, "differs": []})

    client = HubClient("http://hub.example", key="k", transport=httpx.MockTransport(answer))
    client.sandboxes.plan(SandboxCreation(name="x", docker_image="x"))
    # The pod that tries the network may take a minute, and its removal some seconds.
    assert waits[0] > 90
