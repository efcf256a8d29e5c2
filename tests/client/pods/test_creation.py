"""What is about to be rented, and what it will cost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.client.pods.creation import (
    PodPlan,
    free_name,
    plan_creation,
    read_variables,
    request_of,
)
from prime_cli.core.errors import UsageError
from prime_cli.wire.disks import Disk
from prime_cli.wire.offers import GpuOffer, Prices, Spec
from prime_cli.wire.pods import PodVariable
from tests.helpers.machines import A100, SPOT

STEPPED = msgspec.structs.replace(A100, disk=msgspec.structs.replace(A100.disk, step=100))
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def planned(
    offer: GpuOffer = A100,
    *,
    ours: bool = True,
    name: str = "web",
    **wishes: Any,
) -> PodPlan:
    of_plan = {key: wishes.pop(key) for key in ("disks", "nodes", "life") if key in wishes}
    request = request_of(offer, name, **wishes)
    return plan_creation(offer, request, now=NOW, ends_pods=ours, **of_plan)


def test_the_total_is_price_times_hours() -> None:
    plan = planned(life=timedelta(hours=2))
    assert (plan.price, plan.estimate) == (1.65, 3.3)
    assert plan.stop_at == NOW + timedelta(hours=2)
    assert plan.summary.stop_at == "2026-11-21T14:00:00Z"


def test_it_exists_for_a_day_by_default() -> None:
    assert planned().stop_at == NOW + timedelta(days=1)


def test_a_hub_without_deadlines_gets_only_published_fields() -> None:
    plan = planned(ours=False)
    assert (plan.stop_at, plan.estimate) == (None, None)
    sent = msgspec.to_builtins(plan.creation)
    assert not {"stopAt", "nodes"} & sent.keys()


def test_more_disk_nodes_and_other_disks_cost_more() -> None:
    plan = planned(disk_size=1120, nodes=2, disks=(Disk("d1", price_hr=0.5),))
    assert plan.price == pytest.approx((1.65 + 1000 * 0.00014) * 2)
    assert plan.disks_price == 0.5
    assert plan.estimate == pytest.approx(((1.65 + 0.14) * 2 + 0.5) * 24)


def test_a_disk_that_is_not_in_the_price_is_paid_from_its_first_gigabyte() -> None:
    spec = msgspec.structs.replace(A100.disk, default_included_in_price=False)
    plan = planned(msgspec.structs.replace(A100, disk=spec))
    assert plan.price == pytest.approx(1.65 + 120 * 0.00014)


@pytest.mark.parametrize(
    "plan",
    [
        planned(msgspec.structs.replace(A100, prices=Prices())),
        planned(disks=(Disk("d1"),)),
    ],
)
def test_an_unknown_price_is_not_zero(plan: PodPlan) -> None:
    assert plan.estimate is None


@pytest.mark.parametrize(
    ("offer", "options", "message"),
    [
        (A100, {"disk_size": 100}, "`--disk-size` of this offer is from 120 to 3000, not 100"),
        (STEPPED, {"disk_size": 130}, "is from 120 in steps of 100, not 130"),
        (A100, {"vcpus": 20}, "`--vcpus` cannot be chosen for this offer: it comes with 14"),
        (A100, {"memory": 1}, "`--memory` cannot be chosen"),
        (A100, {"image": "windows"}, "`windows` is not an image"),
        (A100, {"image": "custom_template"}, "require each other"),
        (A100, {"custom_template_id": "t1"}, "require each other"),
        (A100, {"name": "123"}, "is not a valid pod name"),
        (A100, {"name": "a b"}, "is not a valid pod name"),
        (A100, {"disk_size": 3000, "max_price": 1.7}, "the `--max-price` of"),
        (SPOT, {"disk_size": 600}, "cannot be chosen"),
    ],
)
def test_what_an_offer_does_not_leave_open_is_refused_by_its_flag(
    offer: GpuOffer, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        planned(offer, **options)
    assert message in caught.value.message


def test_the_request_is_the_offer_with_its_defaults() -> None:
    request = planned().request
    assert (request.cloud_id, request.data_center_id) == (A100.cloud_id, A100.data_center)
    assert (request.disk_size, request.vcpus, request.memory) == (120, 14, 125)
    assert request.image == "ubuntu_22_cuda_12"


def test_the_default_may_be_named_also_where_nothing_is_left_open() -> None:
    assert planned(vcpus=14).request.vcpus == 14


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True), st.text())
def test_the_value_of_a_variable_is_all_behind_the_first_equals_sign(name: str, value: str) -> None:
    assert read_variables([f"{name}={value}"], {}) == (PodVariable(name, value),)


def test_a_name_alone_is_taken_from_the_environment() -> None:
    assert read_variables(["TOKEN"], {"TOKEN": "s3cret="}) == (PodVariable("TOKEN", "s3cret="),)
    with pytest.raises(UsageError, match="`TOKEN` is not set"):
        read_variables(["TOKEN"], {})
    with pytest.raises(UsageError) as caught:
        read_variables(["A B=s3cret"], {})
    assert "s3cret" not in caught.value.message


def test_values_of_variables_are_never_shown() -> None:
    plan = planned(env_vars=[PodVariable("TOKEN", "s3cret")])
    assert plan.summary.variables == ["TOKEN"]
    assert "s3cret" not in f"{plan!r}{plan.summary}"


def test_names_are_derived_from_the_gpu_and_unique() -> None:
    assert free_name(A100, []) == "a100-1"
    assert free_name(A100, ["a100-1", "a100-1-2", None]) == "a100-1-3"


def test_an_empty_spec_leaves_everything_to_the_hub() -> None:
    bare = msgspec.structs.replace(A100, disk=Spec(), vcpu=Spec(), memory=Spec(), images=())
    plan = planned(bare).request
    assert (plan.disk_size, plan.vcpus, plan.memory, plan.image) == (None, None, None, None)
