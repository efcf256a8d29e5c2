"""A hub whose machines are on paper, and users who rent them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from prime_cli.hub.compute.provider import PodProvider
from tests.helpers.machines import A100, Machines
from tests.helpers.ssh_keys import line
from tests.hub.accounts_hub import AccountsHub

API = "/api/v1"


def wish(offer: Any = A100, /, **changes: Any) -> dict[str, Any]:
    """The body of a good `POST /pods`; `changes` are of its `pod`."""
    pod = {
        "name": "trainer",
        "cloudId": offer.cloud_id,
        "gpuType": offer.gpu_type,
        "gpuCount": offer.gpu_count,
        "socket": offer.socket,
    }
    return {"pod": pod | changes, "provider": {"type": offer.provider}}


@dataclass
class PodHub:
    """A accounts_hub with machines, and Ada, who has a key that opens pods."""

    data: Path
    machines: Machines = field(default_factory=Machines)
    others: tuple[PodProvider, ...] = ()

    def __post_init__(self) -> None:
        self.accounts_hub = AccountsHub(self.data, providers=(self.machines, *self.others))
        self.ada = self.tenant("ada", 1)

    def tenant(self, slug: str, number: int) -> httpx.Client:
        """A new user with a key of ssh."""
        client = self.accounts_hub.user(slug)
        sent = {"name": slug, "publicKey": line(number)}
        client.post(f"{API}/ssh_keys", json=sent).raise_for_status()
        return client

    def rent(self, client: httpx.Client | None = None, /, **changes: Any) -> dict[str, Any]:
        """A new pod of somebody's, by default Ada's; `changes` are of the body."""
        answer = (client or self.ada).post(f"{API}/pods", json=wish() | changes)
        assert answer.is_success, answer.text
        pod: dict[str, Any] = answer.json()
        return pod

    def pod(self, pod_id: str, client: httpx.Client | None = None) -> dict[str, Any]:
        """A pod as it is."""
        answer = (client or self.ada).get(f"{API}/pods/{pod_id}")
        assert answer.is_success, answer.text
        pod: dict[str, Any] = answer.json()
        return pod

    def pods(self, client: httpx.Client | None = None) -> list[str]:
        """The ids of the pods in somebody's list."""
        page = (client or self.ada).get(f"{API}/pods").json()
        return [pod["id"] for pod in page["data"]]

    def history(self, client: httpx.Client | None = None, query: str = "") -> list[dict[str, Any]]:
        """The pods in somebody's history."""
        page = (client or self.ada).get(f"{API}/pods/history{query}").json()
        found: list[dict[str, Any]] = page["data"]
        return found

    def tag(self, pod: dict[str, Any]) -> str:
        """What the provider knows a pod by."""
        return next(
            tag for tag, order in self.machines.started.items() if order.pod_id == pod["id"]
        )

    def arrive(self, pod: dict[str, Any]) -> None:
        """Let a pod come up."""
        self.machines.arrive(self.tag(pod))
