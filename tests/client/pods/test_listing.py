"""What is shown of a pod, from what hubs say of it."""

from datetime import UTC, datetime, timedelta

import msgspec

from prime_cli.client.pods.listing import billed_so_far, details, updated
from prime_cli.wire.pods import Pod, PodState, PortMapping

BEGUN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
POD = Pod(
    id="1f2e3d4c",
    gpu_name="A100_80GB",
    gpu_count=2,
    status="PROVISIONING",
    name="web",
    provider_type="paper",
    created_at="2026-11-21T12:00:00.123456+00:00",
    price_hr=2.0,
)


def test_a_state_is_newer_than_the_pod_but_what_it_leaves_out_stays() -> None:
    state = PodState(
        pod_id="1f2e3d4c",
        status="ACTIVE",
        ssh_connection="root@192.0.2.1 -p 22",
        installation_status="FINISHED",
    )
    shown = details(updated(POD, state), BEGUN)
    assert (shown.status, shown.ssh) == ("ACTIVE", "root@192.0.2.1 -p 22")
    assert (shown.provider, shown.price_per_hour) == ("paper", 2.0)


def test_addresses_are_one_text_and_none_is_shown_like_in_the_official_client() -> None:
    pod = msgspec.structs.replace(POD, ip=["192.0.2.1", None, "192.0.2.2"], ssh_connection=[None])
    shown = details(pod, BEGUN)
    assert (shown.ip, shown.ssh) == ("192.0.2.1, 192.0.2.2", "N/A")


def test_the_json_of_a_pod_omits_missing_parts() -> None:
    told = msgspec.to_builtins(details(POD, BEGUN))
    assert {"installation_status", "port_mappings", "attached_resources"} & told.keys() == set()
    pod = msgspec.structs.replace(POD, prime_port_mapping=[PortMapping("22", "2222", "TCP")])
    assert msgspec.to_builtins(details(pod, BEGUN))["port_mappings"] == [
        {
            "protocol": "TCP",
            "external": "2222",
            "internal": "22",
            "description": None,
            "used_by": None,
        }
    ]


def test_times_are_exact_to_the_second() -> None:
    assert details(POD, BEGUN).created_at == "2026-11-21T12:00:00Z"


def test_billing_is_the_price_since_the_request() -> None:
    assert billed_so_far(POD, BEGUN + timedelta(minutes=90)) == 2.9999
    assert billed_so_far(POD, BEGUN - timedelta(minutes=1)) == 0.0
    assert billed_so_far(msgspec.structs.replace(POD, price_hr=None), BEGUN) is None
    assert billed_so_far(msgspec.structs.replace(POD, created_at=""), BEGUN) is None
