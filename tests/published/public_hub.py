"""A hub that knows the published compute API and nothing else, as a transport for our client.

It holds every request against the tables, and its own answers too, so that it cannot lie.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.helpers.public_compute import (
    DISK,
    DISK_OFFER,
    OFFER,
    PAST_POD,
    POD,
    POD_STATE,
    SSH_KEY,
)
from tests.published.checking import API, faults_of_answer, faults_of_traffic
from tests.published.notation import published

Rows = dict[str, dict[str, Any]]

CPU_NODE = {
    **OFFER,
    "cloudId": "cpu_small",
    "gpuType": "CPU_NODE",
    "gpuMemory": 0,
    "prices": {"currency": "USD", "onDemand": 0.02},
}
H100 = {
    **OFFER,
    "cloudId": "gpu_1x_h100",
    "gpuType": "H100_80GB",
    "provider": "lambdalabs",
    "images": ["cuda_12_6_pytorch_2_7"],
}
TEAM = {"teamId": "team_1", "name": "Team X", "slug": "team-x", "role": "ADMIN", "createdAt": "now"}
_STAGES: tuple[dict[str, Any], ...] = (
    {"status": "PROVISIONING", "sshConnection": None, "ip": None, "installationProgress": None},
    {"status": "ACTIVE", "installationStatus": "ACTIVE", "installationProgress": 40},
    {"status": "ACTIVE", "installationStatus": "FINISHED", "installationProgress": 100},
)
"""A pod goes one stage on each time that it is looked at."""


@dataclass
class PublicHub(httpx.BaseTransport):
    """Ada's pods, disks and keys. `asked` is what was asked for, `faults` what is not published."""

    pods: Rows = field(default_factory=dict)
    past: list[dict[str, Any]] = field(default_factory=list)
    disks: Rows = field(default_factory=dict)
    keys: Rows = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        path = request.url.path.removeprefix(API)
        if path in _OTHERS:
            return httpx.Response(200, json=_OTHERS[path])
        address = published().find(request.method, path)
        if address is None:
            if path != "/capabilities":  # which asks what a hub can do beyond the published API
                self.faults.append(f"{request.method} {path} is not published")
            return httpx.Response(404, json={"detail": "Not Found"})
        self.faults += faults_of_traffic(request)
        body = json.loads(request.content) if request.content else None
        self.asked.append((f"{request.method} {address.path}", body))
        status, said = self._answer(f"{request.method} {address.path}", path, request.url, body)
        wrong = faults_of_answer(request.method, request.url.path, status, said)
        assert not wrong, f"this hub is not the public one: {wrong}"
        return httpx.Response(status, json=said)

    def bodies(self, call: str) -> list[Any]:
        """What was sent to `METHOD /address` as it is published."""
        return [body for each, body in self.asked if each == call]

    def add_pod(self, name: str = "trainer", stage: int = 2) -> dict[str, Any]:
        """A pod that is there."""
        made = {**POD, "id": f"pod_{len(self.pods) + 1}", "name": name, **_STAGES[stage]}
        self.pods[made["id"]] = made
        return made

    def _answer(self, call: str, path: str, url: httpx.URL, body: Any) -> tuple[int, Any]:
        if call in _FIXED:
            return 200, _FIXED[call]
        if call in _LISTS:
            return 200, _page(_LISTS[call](self))
        if call == "GET /pods/status":
            wanted = url.params.get_list("pod_ids")
            found = [self._go_on(self.pods[each]) for each in wanted if each in self.pods]
            return 200, {"data": [_state(pod) for pod in found]}
        if call.startswith("POST"):
            return 200, _CREATE[call](self, body)
        kind, one = path.strip("/").split("/")[:2]
        rows: Rows = {"pods": self.pods, "disks": self.disks, "ssh_keys": self.keys}[kind]
        if one not in rows:
            return 404, {"detail": "Not found"}
        return 200, _ONE[call](self, rows[one], body)

    def _go_on(self, pod: dict[str, Any]) -> dict[str, Any]:
        stages = [each["status"] for each in _STAGES]
        now = 2 if pod["installationStatus"] == "FINISHED" else stages.index(pod["status"])
        after = {**POD, **_STAGES[min(now + 1, 2)], "id": pod["id"], "name": pod["name"]}
        pod.update(after)
        return pod

    def _rent(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.add_pod(body["pod"].get("name", "unnamed"), stage=0)

    def _end(self, pod: dict[str, Any], _body: Any) -> dict[str, Any]:
        del self.pods[pod["id"]]
        self.past.insert(0, {**PAST_POD, "id": pod["id"], "name": pod["name"]})
        return {"status": "TERMINATED"}

    def _make_disk(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["disk"].get("name", "disk")
        made = {**DISK, "id": "disk_1", "name": name, "size": body["disk"]["size"]}
        self.disks[made["id"]] = made
        return made

    def _end_disk(self, disk: dict[str, Any], _body: Any) -> dict[str, Any]:
        del self.disks[disk["id"]]
        return {"message": "Disk terminated"}

    def _add_key(self, body: dict[str, Any]) -> dict[str, Any]:
        made = {**SSH_KEY, **body, "id": f"key_{len(self.keys) + 1}", "isPrimary": not self.keys}
        self.keys[made["id"]] = made
        return made

    def _end_key(self, key: dict[str, Any], _body: Any) -> dict[str, Any]:
        del self.keys[key["id"]]
        return {"message": "Key removed"}


def _update(_hub: PublicHub, row: dict[str, Any], body: Any) -> dict[str, Any]:
    row.update(body)
    return {"message": "Updated", "updated_fields": body}


def _page(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"total_count": len(rows), "offset": 0, "limit": 100, "data": rows}


def _state(pod: dict[str, Any]) -> dict[str, Any]:
    names = ("status", "sshConnection", "ip", "installationStatus", "installationProgress")
    return {**POD_STATE, "podId": pod["id"], **{name: pod.get(name) for name in names}}


_OTHERS: dict[str, Any] = {
    "/user/whoami": {"data": {"id": "user_1", "slug": "ada", "scope": None}},
    "/user/teams": {"data": [TEAM], "total_count": 1, "offset": 0, "limit": 100},
    "/teams/team_1/members": {
        "data": [{"userId": "user_2", "userName": "bob", "userEmail": None, "role": "MEMBER"}]
    },
}
_FIXED: dict[str, Any] = {
    "GET /availability/gpus": {"items": [OFFER, CPU_NODE, H100], "totalCount": 3},
    "GET /availability/multi-node": {"items": [], "totalCount": 0},
    "GET /availability/disks": {"items": [DISK_OFFER], "totalCount": 1},
    "GET /availability/gpu-summary": {"A100_80GB": {"1": {"cheapest": {"onDemand": 1.65}}}},
}
_LISTS: dict[str, Callable[[PublicHub], list[dict[str, Any]]]] = {
    "GET /pods/": lambda hub: [hub._go_on(each) for each in hub.pods.values()],
    "GET /pods/history": lambda hub: hub.past,
    "GET /disks/": lambda hub: list(hub.disks.values()),
    "GET /ssh_keys/": lambda hub: list(hub.keys.values()),
}
_CREATE: dict[str, Callable[[PublicHub, Any], Any]] = {
    "POST /pods/": PublicHub._rent,
    "POST /disks/": PublicHub._make_disk,
    "POST /ssh_keys/": PublicHub._add_key,
}
_ONE: dict[str, Callable[[PublicHub, dict[str, Any], Any], Any]] = {
    "GET /pods/{pod_id}": lambda hub, pod, _: hub._go_on(pod),
    "DELETE /pods/{pod_id}": PublicHub._end,
    "GET /pods/{pod_id}/log": lambda _hub, _pod, _: "booting\nready",
    "GET /disks/{disk_id}": lambda _hub, disk, _: disk,
    "PATCH /disks/{disk_id}": _update,
    "DELETE /disks/{disk_id}": PublicHub._end_disk,
    "PATCH /ssh_keys/{key_id}": _update,
    "DELETE /ssh_keys/{key_id}": PublicHub._end_key,
}
