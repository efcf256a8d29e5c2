from typing import Any

import httpx

from prime_cli.hub.app import OPERATIONS
from prime_cli.hub.routes.openapi import describe
from prime_cli.wire.codec import decode, encode

DOCUMENT = decode(encode(describe(OPERATIONS, "https://hub.example.org")), dict[str, Any])


def test_document_is_valid_openapi() -> None:
    from openapi_spec_validator import validate  # half a second

    validate(DOCUMENT)


def test_every_operation_is_described_once() -> None:
    ids = [op["operationId"] for path in DOCUMENT["paths"].values() for op in path.values()]
    assert len(ids) == len(set(ids)) == len(OPERATIONS)


def test_every_schema_that_is_named_is_there() -> None:
    names = set(DOCUMENT["components"]["schemas"])
    text = httpx.Response(200, json=DOCUMENT).text
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.partition('"')[0] in names


def test_hub_serves_its_document(client: httpx.Client) -> None:
    served = client.get("/openapi.json").json()
    assert served["servers"] == [{"url": "http://hub.local"}]
    assert served["paths"].keys() == DOCUMENT["paths"].keys()


def test_page_names_every_address(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for operation in OPERATIONS:
        assert operation.path in page.text
