"""A hub with machines, of which every answer is held against the published schemas."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec

from prime_cli.wire.offers import DiskOffer, GpuOffer, Prices, Spec
from tests.helpers.machines import A100, DISK, SPOT, Machines
from tests.hub.services.compute.renting import PodHub, wish
from tests.published.checking import API, faults_of_answer
from tests.published.deviations import OF_OUR_HUB
from tests.published.notation import published

BOX = GpuOffer(
    cloud_id="this-machine",
    gpu_type="CPU_NODE",
    gpu_count=1,
    provider="local",
    vcpu=Spec(default_count=2),
    memory=Spec(default_count=24),
    security="secure_cloud",
    prices=Prices(currency="USD", on_demand=0.0),
    images=("ubuntu_22_cuda_12",),
)
GPU = msgspec.structs.replace(A100, provider="local")
CLUSTER = msgspec.structs.replace(SPOT, provider="local")
DISKS: DiskOffer = msgspec.structs.replace(DISK, provider="local")


class Clustered(Machines):
    """Of which one may have several."""

    def validate_spec(self, order: object) -> None:
        """Everything is."""


@dataclass
class Watched:
    """The hub, and Ada's client; `seen` has an address and a status for every answer so far."""

    data: Path
    seen: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.machines = Clustered("local", [BOX, GPU, CLUSTER], [DISKS], at_once=True)
        self.pod_hub = PodHub(self.data, machines=self.machines)
        self.ada = self.watch(self.pod_hub.ada)

    def watch(self, client: httpx.Client) -> httpx.Client:
        """The client; from now on it fails over an answer that is not as published."""
        client.event_hooks["response"].append(self._check)
        return client

    def get(self, path: str) -> Any:
        """The JSON of a good answer for Ada."""
        return self.ask("GET", path)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The same with another method, and a body."""
        answer = self.ada.request(method, f"{API}{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def rent(self, offer: GpuOffer, **changes: Any) -> dict[str, Any]:
        """A new pod; `changes` are of the body."""
        pod: dict[str, Any] = self.ask("POST", "/pods/", wish(offer) | changes)
        return pod

    def _check(self, answer: httpx.Response) -> None:
        answer.read()
        method, path = answer.request.method, answer.request.url.path
        address = published().find(method, path.removeprefix(API))
        assert address is not None, f"{method} {path} is not published"
        body = answer.json()
        faults = faults_of_answer(method, path, answer.status_code, body, besides=OF_OUR_HUB)
        assert not faults, f"{faults}\n{json.dumps(body, indent=1)}"
        self.seen.add((f"{method} {address.path}", answer.status_code))
