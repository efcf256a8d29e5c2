"""What SkyPilot has, as offers of the published form."""

import pytest

from prime_cli.core.errors import EnvironmentFailed, NotAllowed, UsageError
from prime_cli.hub.compute.sky.machines import published_type
from tests.helpers.skypilots import H100, FakeSky, order_of

AWS = "sky/aws/us-east-1/p5.48xlarge"


def test_clouds_and_pools_are_offered_with_prices_regions_and_published_types(sky: FakeSky) -> None:
    found = {offer.cloud_id: offer for offer in sky.provider().offers()}
    assert found.keys() == {"sky/slurm/lab", AWS, f"{AWS}/spot"}
    assert (found[AWS].gpu_type, found[AWS].gpu_count) == ("H100_80GB", 8)
    assert (found[AWS].prices.on_demand, found[f"{AWS}/spot"].prices.on_demand) == (98.32, 30.5)
    assert (found[AWS].is_spot, found[f"{AWS}/spot"].is_spot) == (False, True)
    assert (found[AWS].vcpu.default_count, found[AWS].memory.default_count) == (192, 2048)
    assert found["sky/slurm/lab"].gpu_type == "CPU_NODE"


def test_offers_are_requested_once_in_a_while_and_again_for_other_places(sky: FakeSky) -> None:
    for _ in range(3):
        sky.provider().offers()
    assert len(sky.calls("list_accelerators")) == 2
    assert [each.cloud_id for each in sky.provider(infra=("slurm",)).offers()] == ["sky/slurm/lab"]


def test_only_the_places_that_are_named_are_asked(sky: FakeSky) -> None:
    assert len(sky.provider(infra=("aws/us-east-1",)).offers()) == 2
    with pytest.raises(EnvironmentFailed, match="may use slurm/lab, aws, and none of gcp"):
        sky.provider(infra=("gcp",)).offers()


def test_a_cloud_without_a_catalog_is_not_in_the_way_of_others(sky: FakeSky) -> None:
    sky.set(troubles={"aws": "the catalog cannot be fetched"})
    assert [each.cloud_id for each in sky.provider().offers()] == ["sky/slurm/lab"]
    sky.set(enabled=["aws"])
    with pytest.raises(EnvironmentFailed, match="the catalog cannot be fetched"):
        sky.provider(infra=("aws",)).offers()


def test_without_any_cloud_a_hint_says_how_to_get_one(sky: FakeSky) -> None:
    sky.set(enabled=[])
    with pytest.raises(EnvironmentFailed, match="run `sky check` to see what each one needs"):
        sky.provider().offers()


def test_a_served_hub_offers_only_what_its_users_reach(sky: FakeSky) -> None:
    cloud_ids = {offer.cloud_id for offer in sky.provider(embedded=False).offers()}
    assert cloud_ids == {AWS, f"{AWS}/spot"}
    sky.set(enabled=["slurm/lab"])
    with pytest.raises(NotAllowed, match="no other machine reaches: slurm/lab") as caught:
        sky.provider(embedded=False, infra=("slurm",)).offers()
    # Its users cannot do it: it is for the log.
    assert "setting `sky`" in str(caught.value.detail)
    assert "setting" not in str(caught.value.hint)


def test_a_served_hub_offers_nothing_while_its_credentials_would_come_along(sky: FakeSky) -> None:
    sky.set(credentials={"~/.aws/credentials": "aws", "~/.config/gcloud": "gcp"}, no_upload=["aws"])
    with pytest.raises(NotAllowed, match="copy credentials of the hub's admin") as caught:
        sky.provider(embedded=False).offers()
    # What is told to the log is not sent to users.
    assert "gcloud" not in caught.value.message
    assert str(caught.value.detail).startswith("~/.config/gcloud; write `remote_identity")
    assert sky.provider().offers()
    sky.set(no_upload=["aws", "gcp"])
    assert sky.provider(embedded=False, infra=("aws",)).offers()


def test_a_served_hub_offers_nothing_where_skypilot_hands_out_the_key_of_all_machines(
    sky: FakeSky,
) -> None:
    sky.set(enabled=["aws", "verda"], accelerators={"aws": {"H100": [H100]}, "verda": {}})
    assert sky.provider(embedded=False).offers()
    sky.set(accelerators={"aws": {"H100": [H100]}, "verda": {"H100": [H100]}})
    with pytest.raises(NotAllowed, match="copy credentials") as caught:
        sky.provider(embedded=False, infra=("aws", "verda")).offers()
    assert str(caught.value.detail).startswith("~/.ssh/sky-cluster-key; ")


@pytest.mark.parametrize(
    ("name", "memory", "expected"),
    [
        ("H100", 80.0, "H100_80GB"),
        ("h100", None, "H100_80GB"),
        ("A100", 40.0, "A100_40GB"),
        ("A100-80GB", 0.0, "A100_80GB"),
        ("L4", 22.4, "L4_24GB"),
        ("GB200", 186.0, "GB200"),
        ("A100", 80.0, None),
        ("Trainium", 32.0, None),
    ],
)
def test_gpus_have_their_published_names_or_none(
    name: str, memory: float | None, expected: str | None
) -> None:
    assert published_type(name, memory) == expected


def test_what_does_not_map_is_refused_by_name(sky: FakeSky) -> None:
    provider = sky.provider()
    with pytest.raises(
        UsageError, match=r"image `docker:ubuntu:24\.04` is not available at `slurm/lab`"
    ):
        provider.validate_spec(order_of(provider, "sky/slurm/lab", image="docker:ubuntu:24.04"))
    with pytest.raises(UsageError, match="memory cannot be chosen at `aws/us-east-1`"):
        provider.validate_spec(order_of(provider, AWS, memory=64))
    with pytest.raises(UsageError, match="disk size cannot be chosen at `slurm/lab`"):
        provider.validate_spec(order_of(provider, "sky/slurm/lab", disk_size=64))
    with pytest.raises(UsageError, match="`ubuntu` is not an image in a registry"):
        provider.validate_spec(order_of(provider, AWS, image="ubuntu"))
    with pytest.raises(UsageError, match="more than 96 KiB"):
        provider.validate_spec(order_of(provider, AWS, variables={"A": "x" * 200_000}))
    with pytest.raises(UsageError, match="does not support persistent disks"):
        provider.make_disk("prime-1", 10)
