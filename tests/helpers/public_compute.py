"""The part of the public wire that is about machines: from the schemas that it publishes, and from
transcripts of the official client where its addresses and bodies differ from those.
"""

from tests.helpers.exchanges import Body, Exchange, keys

_SPEC = {
    "minCount": None,
    "defaultCount": 14,
    "maxCount": None,
    "pricePerUnit": None,
    "step": None,
    "defaultIncludedInPrice": None,
    "additionalInfo": None,
}
OFFER = {
    "cloudId": "gpu_1x_a100",
    "gpuType": "A100_80GB",
    "socket": "PCIe",
    "provider": "runpod",
    "region": "united_states",
    "dataCenter": "US-KS-2",
    "country": "US",
    "gpuCount": 1,
    "gpuMemory": 80,
    "disk": {
        **_SPEC,
        "minCount": 120,
        "defaultCount": 120,
        "maxCount": 3000,
        "pricePerUnit": 0.00014,
        "step": 1,
    },
    "sharedDisk": {},
    "vcpu": _SPEC,
    "memory": {**_SPEC, "defaultCount": 125},
    "internetSpeed": 1044,
    "interconnect": None,
    "interconnectType": None,
    "provisioningTime": None,
    "stockStatus": "Available",
    "security": "secure_cloud",
    "prices": {
        "onDemand": 1.65,
        "communityPrice": None,
        "isVariable": None,
        "currency": "USD",
    },
    "images": ["ubuntu_22_cuda_12"],
    "isSpot": None,
    "prepaidTime": None,
}
DISK_OFFER = {
    "cloudId": "disk_ks",
    "provider": "runpod",
    "dataCenter": "US-KS-2",
    "country": "US",
    "region": "united_states",
    "spec": {**_SPEC, "minCount": 1, "defaultCount": 100, "maxCount": 4000},
    "stockStatus": "Available",
    "security": "secure_cloud",
    "isMultinode": None,
}
POD = {
    "id": "pod_1a9ed398",
    "userId": "user_1",
    "teamId": None,
    "walletId": None,
    "name": "t1",
    "type": "HOSTED",
    "providerType": "runpod",
    "status": "ACTIVE",
    "installationStatus": "FINISHED",
    "installationFailure": None,
    "installationProgress": 100,
    "createdAt": "2026-11-21T02:18:54Z",
    "updatedAt": "2026-11-21T02:18:54Z",
    "gpuName": "A100_80GB",
    "gpuCount": 1,
    "socket": "PCIe",
    "priceHr": 1.65,
    "stoppedPriceHr": 0.0,
    "provisioningPriceHr": 0.0,
    "environmentType": "ubuntu_22_cuda_12",
    "primePortMapping": [
        {"internal": "22", "external": "2222", "protocol": "TCP", "usedBy": "SSH"},
    ],
    "sshConnection": "root@192.0.2.10 -p 2222",
    "ip": "192.0.2.10",
    "resources": {"memory": 125, "disk": 120, "shared_disk": None, "vcpus": 14},
    "attachedResources": None,
    "isSpot": False,
}
POD_STATE = {
    "podId": POD["id"],
    "providerType": "runpod",
    "status": "ACTIVE",
    "sshConnection": POD["sshConnection"],
    "ip": POD["ip"],
    "installationFailure": None,
    "installationProgress": 100,
}
PAST_POD = {
    "id": POD["id"],
    "name": "t1",
    "providerType": "runpod",
    "provisionedBy": None,
    "type": "Instance",
    "createdAt": POD["createdAt"],
    "terminatedAt": "2026-11-21T02:19:04Z",
    "gpuName": "A100_80GB",
    "gpuCount": 1,
    "socket": "PCIe",
    "priceHr": 1.65,
    "userId": "user_1",
    "teamId": None,
    "totalBilledPrice": 0.01,
}
DISK = {
    "id": "disk_1",
    "name": "data",
    "createdAt": POD["createdAt"],
    "updatedAt": POD["createdAt"],
    "terminatedAt": None,
    "status": "ACTIVE",
    "providerType": "runpod",
    "size": 100,
    "info": None,
    "priceHr": 0.01,
    "stoppedPriceHr": None,
    "provisioningPriceHr": 0.0,
    "userId": "user_1",
    "teamId": None,
    "walletId": None,
    "pods": [],
    "clusters": [],
}
SSH_KEY = {
    "id": "key_1",
    "userId": "user_1",
    "name": "laptop",
    "publicKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA ada@laptop",
    "isPrimary": True,
    "isUserKey": True,
    "createdAt": POD["createdAt"],
    "updatedAt": POD["createdAt"],
}

_AVAILABILITY = "/api/v1/availability"
_PODS = "/api/v1/pods"
_DISKS = "/api/v1/disks"
_KEYS = "/api/v1/ssh_keys"
_OFFERS = keys("page page_size regions gpu_count gpu_type socket security") | keys(
    "data_center_id cloud_id disks"
)
_PART = keys("offset limit")


def _page(*items: object) -> dict[str, object]:
    return {"total_count": len(items), "offset": 0, "limit": 100, "data": list(items)}


EXCHANGES = (
    Exchange("GET", f"{_AVAILABILITY}/gpus", {"items": [OFFER], "totalCount": 1}, query=_OFFERS),
    Exchange("GET", f"{_AVAILABILITY}/multi-node", {"items": [], "totalCount": 0}, query=_OFFERS),
    Exchange(
        "GET",
        f"{_AVAILABILITY}/disks",
        {"items": [DISK_OFFER], "totalCount": 1},
        query=keys("page page_size regions data_center_id cloud_id"),
    ),
    Exchange(
        "GET",
        f"{_AVAILABILITY}/gpu-summary",
        {"A100_80GB": {"1": {"cheapest": {"onDemand": 1.65}}}},
    ),
    Exchange("GET", f"{_PODS}/", _page(POD), query=_PART),
    Exchange(
        "POST",
        f"{_PODS}/",
        POD,
        body=Body(keys("pod provider"), keys("disks team teamMemberIds sharedWithTeam")),
    ),
    Exchange("GET", f"{_PODS}/status", {"data": [POD_STATE]}, query=keys("pod_ids")),
    Exchange("GET", f"{_PODS}/history", _page(PAST_POD), query=_PART | keys("sort_by sort_order")),
    Exchange("GET", f"{_PODS}/{{}}/log", {"logs": "ready"}, query=keys("tail")),
    Exchange("GET", f"{_PODS}/{{}}", POD),
    Exchange("DELETE", f"{_PODS}/{{}}", {"status": "TERMINATED"}),
    Exchange("GET", f"{_DISKS}/", _page(DISK), query=_PART),
    Exchange("POST", f"{_DISKS}/", DISK, body=Body(keys("disk provider"), keys("team"))),
    Exchange("GET", f"{_DISKS}/{{}}", DISK),
    Exchange("PATCH", f"{_DISKS}/{{}}", DISK, body=Body(keys("name"))),
    Exchange("DELETE", f"{_DISKS}/{{}}", {"status": "TERMINATED"}),
    Exchange("GET", f"{_KEYS}/", _page(SSH_KEY), query=_PART),
    Exchange("POST", f"{_KEYS}/", SSH_KEY, body=Body(keys("name publicKey"))),
    Exchange(
        "PATCH",
        f"{_KEYS}/{{}}",
        {"message": "Updated", "updated_fields": {"isPrimary": True}},
        body=Body(keys("isPrimary")),
    ),
    Exchange("DELETE", f"{_KEYS}/{{}}", {"message": "Deleted"}),
)
