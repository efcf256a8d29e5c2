"""What is not as published is found, wherever it stands, and what is meant so is let pass."""

from typing import Any

import httpx
import pytest

from tests.helpers.public_compute import EXCHANGES, POD
from tests.published.checking import faults_of_answer, faults_of_request, faults_of_traffic
from tests.published.deviations import OF_OUR_HUB

RENTED: dict[str, Any] = {
    "pod": {"cloudId": "c1", "gpuType": "A100_80GB", "gpuCount": 1, "socket": "PCIe"},
    "provider": {"type": "runpod"},
}


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda each: f"{each.method} {each.path}")
def test_answers_that_our_client_is_tested_with_are_as_published(exchange: Any) -> None:
    path = exchange.path.format("one")
    assert faults_of_answer(exchange.method, path, 200, exchange.answer) == []


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ([("limit", "5"), ("offset", "0")], None),
        ([("limit", "five")], "`?limit` cannot be ['five']"),
        ([("limit", "5"), ("limit", "6")], "`?limit` cannot be ['5', '6']"),
        ([("sort", "name")], "`?sort` is not known"),
    ],
)
def test_a_query_is_checked_against_its_table(
    query: list[tuple[str, str]], fault: str | None
) -> None:
    found = faults_of_request("GET", "/api/v1/pods/", query, None)
    assert found == ([f"GET /api/v1/pods/: {fault}"] if fault else [])


def test_a_name_may_be_given_once_or_often_where_a_list_is_taken() -> None:
    for regions in (["canada"], ["canada", "eu_north"]):
        query = [("regions", each) for each in regions]
        assert faults_of_request("GET", "/api/v1/availability/gpus", query, None) == []
    query = [("regions", "mars")]
    assert len(faults_of_request("GET", "/api/v1/availability/gpus", query, None)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"provider": {}},
        {"provider": {"type": "local"}},
        {"pod": {**RENTED["pod"], "socket": None}},
        {"pod": {**RENTED["pod"], "gpuCount": 0}},
        {"pod": {**RENTED["pod"], "stopAt": "2026-11-21T02:18:54Z"}},
        {"team": {}},
    ],
)
def test_a_body_is_checked_against_its_schema(change: dict[str, Any]) -> None:
    assert faults_of_request("POST", "/api/v1/pods/", [], RENTED) == []
    assert len(faults_of_request("POST", "/api/v1/pods/", [], RENTED | change)) == 1


def test_a_body_where_none_is_taken_and_none_where_one_is() -> None:
    assert faults_of_request("DELETE", "/api/v1/pods/one", [], {}) != []
    assert faults_of_request("POST", "/api/v1/pods/", [], None) != []
    assert faults_of_request("POST", "/api/v1/pods/sweep", [], {}) != []


@pytest.mark.parametrize(
    "change", [{"createdAt": "2026-11-21T02:18:54"}, {"createdAt": "soon"}, {"status": "GONE"}]
)
def test_an_answer_is_checked_against_its_schema(change: dict[str, Any]) -> None:
    assert len(faults_of_answer("GET", "/api/v1/pods/one", 200, {**POD, **change})) == 1


def test_a_refusal_is_checked_against_its_schema() -> None:
    wrong = {"errors": [{"param": "limit", "details": "too large"}], "detail": "too large"}
    assert faults_of_answer("GET", "/api/v1/pods/", 422, wrong) == []
    assert len(faults_of_answer("GET", "/api/v1/pods/", 422, {"detail": "too large"})) == 1


def test_intended_findings_pass_and_similar_ones_do_not() -> None:
    ours = {**POD, "providerType": "local", "socket": None}
    path = "/api/v1/pods/one"
    assert len(faults_of_answer("GET", path, 200, ours)) == 2
    assert faults_of_answer("GET", path, 200, ours, besides=OF_OUR_HUB) == []
    assert faults_of_answer("GET", path, 200, {**ours, "socket": ""}, besides=OF_OUR_HUB) != []


@pytest.mark.parametrize(("path", "faults"), [("/pods/", 0), ("/pods", 1)])
def test_traffic_goes_to_the_address_as_it_is_published(path: str, faults: int) -> None:
    sent = httpx.Request("GET", f"https://hub.example/api/v1{path}")
    assert len(faults_of_traffic(sent)) == faults
