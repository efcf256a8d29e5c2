"""Which offers are meant by what is asked for, and in which order."""

import msgspec
import pytest

from prime_cli.client.pods.offer_rows import gpu_type_rows, offer_rows
from prime_cli.client.pods.offers import (
    accepting_variables,
    choose_cheapest,
    choose_named,
    explain_no_offer,
    filter_offers,
    match_types,
    offer_id,
    read_regions,
    split_list,
    suggest_types,
)
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.wire.offers import GpuOffer, OfferQuery, Prices, Spec
from tests.helpers.machines import A100, SPOT

TYPES = {"A10_24GB", "A100_40GB", "A100_80GB", "H100_80GB", "RTX4090_24GB", "CPU_NODE"}
changed = msgspec.structs.replace
CHEAP = changed(A100, cloud_id="cheap", prices=Prices("USD", 1.10))
UNPRICED = changed(A100, cloud_id="secret", prices=Prices())


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("H100_80GB", {"H100_80GB"}),
        ("h100", {"H100_80GB"}),
        ("H100-80gb", {"H100_80GB"}),
        ("h100 80gb", {"H100_80GB"}),
        ("rtx 4090", {"RTX4090_24GB"}),
        ("a100", {"A100_40GB", "A100_80GB"}),
        ("A10", {"A10_24GB"}),
        ("cpu", {"CPU_NODE"}),
        ("H10", set()),
        ("", set()),
    ],
)
def test_names_of_gpus_are_read_leniently_and_never_in_halves(word: str, meant: set[str]) -> None:
    assert match_types(TYPES, word) == meant


@pytest.mark.parametrize(
    ("word", "near"),
    [("H10", "H100_80GB"), ("4090", "RTX4090_24GB"), ("h1000", "H100_80GB")],
)
def test_an_invalid_name_has_a_suggestion(word: str, near: str) -> None:
    assert near in suggest_types(TYPES, word)


def test_the_cheapest_comes_first_and_what_has_no_price_last() -> None:
    found = filter_offers([UNPRICED, A100, CHEAP], OfferQuery())
    assert [offer.cloud_id for offer in found] == ["cheap", A100.cloud_id, "secret"]


def test_what_a_hub_says_twice_is_reported_once() -> None:
    dearer = changed(A100, prices=Prices("USD", 2.0))
    assert filter_offers([dearer, A100, A100], OfferQuery()) == [A100]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (OfferQuery(gpu_count=8), [SPOT.cloud_id]),
        (OfferQuery(socket="pcie"), [A100.cloud_id]),
        (OfferQuery(provider="PAPER", spot=False), [A100.cloud_id]),
        (OfferQuery(max_price=2), [A100.cloud_id]),
        (OfferQuery(spot=True), [SPOT.cloud_id]),
        (OfferQuery(gpu_type="h100", gpu_count=1), []),
    ],
)
def test_only_what_is_wanted_is_left(wanted: OfferQuery, ids: list[str]) -> None:
    assert [offer.cloud_id for offer in filter_offers([A100, SPOT], wanted)] == ids


def test_what_has_no_price_is_not_below_any() -> None:
    assert filter_offers([UNPRICED], OfferQuery(max_price=1000)) == []


def test_options_may_be_repeated_and_hold_several() -> None:
    assert split_list(["a,b", " c ", "a", ","]) == ("a", "b", "c")
    assert read_regions(["United States,eu-north"]) == ("united_states", "eu_north")


def test_similar_offers_are_one_with_the_range_of_what_differs() -> None:
    larger = changed(A100, vcpu=Spec(default_count=28), memory=Spec(default_count=250))
    (one,) = offer_rows([A100, larger], group=True)
    assert (one.vcpus, one.memory_gb, one.disk_gb) == ("14-28", "125-250", "120+")
    assert one.id in (offer_id(A100), offer_id(larger))
    assert len(offer_rows([A100, larger], group=False)) == 2


def test_a_type_has_its_lowest_price_whichever_kind_of_price_it_is() -> None:
    (shown,) = gpu_type_rows(
        {
            "H100_80GB": {
                "8": {"cheapest": {"onDemand": 20.0, "communityPrice": 18.0}},
                "16": {"cheapest": {}},
                "1": {"cheapest": {"onDemand": 2.5}},
            }
        }
    )
    assert (shown.gpu_counts, shown.cheapest) == (("1", "8", "16"), 2.5)


def test_an_offer_is_chosen_by_its_six_letters_or_by_the_providers_own_id() -> None:
    offers = [A100, SPOT]
    assert choose_named(offers, OfferQuery(), named=offer_id(SPOT), cloud=False) == SPOT
    assert choose_named(offers, OfferQuery(), named=A100.cloud_id, cloud=True) == A100
    with pytest.raises(NotFound, match="No offer `ffffff`"):
        choose_named(offers, OfferQuery(), named="ffffff", cloud=False)
    with pytest.raises(UsageError, match="does not match the other flags"):
        choose_named(offers, OfferQuery(max_price=1), named=offer_id(A100), cloud=False)


def test_of_two_offers_with_one_id_the_spot_one_needs_a_request() -> None:
    spot = changed(A100, is_spot=True, prices=Prices("USD", 0.5))
    named = offer_id(A100)
    assert choose_named([spot, A100], OfferQuery(), named=named, cloud=False) == A100
    assert choose_named([spot, A100], OfferQuery(spot=True), named=named, cloud=False) == spot


def test_the_cheapest_that_fits_is_taken_and_reported() -> None:
    offer, why = choose_cheapest([A100, CHEAP, SPOT], OfferQuery(gpu_type="a100"))
    assert offer == CHEAP
    assert why == (
        f"Selected {offer_id(CHEAP)}, A100_80GB x1 of paper in US (US-KS-2) at $1.10/h: "
        "the cheapest of 2 offers that fit"
    )


def test_a_spot_machine_is_used_only_on_request() -> None:
    with pytest.raises(NotFound, match="spot") as caught:
        choose_cheapest([A100, SPOT], OfferQuery(gpu_type="h100"))
    assert "--spot" in (caught.value.hint or "")
    assert choose_cheapest([A100, SPOT], OfferQuery(gpu_type="h100", spot=True))[0] == SPOT


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        (OfferQuery(gpu_type="h10"), "No `h10`", "did you mean `H100_80GB`"),
        (OfferQuery(gpu_type="a100", gpu_count=3), "`--gpu-count`", "machines with 1 of them"),
        (
            OfferQuery(gpu_type="a100", max_price=1),
            "`--max-price`",
            "the cheapest is A100_80GB x1",
        ),
        (OfferQuery(provider="aws"), "`--provider`", "there is paper"),
        (OfferQuery(gpu_type="a100", spot=True), "`--spot`", "omit it"),
        (
            OfferQuery(gpu_count=3, max_price=0.1),
            "No offer matches all",
            "prime availability list",
        ),
    ],
)
def test_the_filter_that_excludes_all_offers_is_named(
    wanted: OfferQuery, message: str, hint: str
) -> None:
    why = explain_no_offer([A100, SPOT], wanted)
    assert message in why.message
    assert hint in (why.hint or "")


def test_the_place_is_blamed_if_a_hub_has_nothing_there() -> None:
    assert "`--regions`" in explain_no_offer([], OfferQuery(regions=("africa",))).message
    assert "`--disks`" in explain_no_offer([], OfferQuery(disks=("d1",))).message


def test_a_hub_without_machines_says_so() -> None:
    assert "No machines are available" in explain_no_offer([], OfferQuery(gpu_type="h100")).message


def test_offers_that_take_no_variables_are_omitted_as_the_official_client_does() -> None:
    other: GpuOffer = changed(A100, provider="runpod")
    (left,) = accepting_variables([A100, SPOT, other])
    assert left.images == ("cuda_12_6_pytorch_2_7",)
