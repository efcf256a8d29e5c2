"""The page of the hub's API."""

from msgspec import Struct

from prime_cli.pages.templates import HubCommand, Page


class OperationRow(Struct, frozen=True):
    """One method of one address, and whether it needs a key."""

    method: str
    path: str
    summary: str
    needs_key: bool


class ApiRecord(Struct, frozen=True):
    """Everything that the API answers."""

    operations: list[OperationRow]


_COMMAND = (HubCommand('curl -H "Authorization: Bearer $PRIME_API_KEY" {url}/openapi.json'),)


def api_page(operations: list[OperationRow]) -> Page:
    """One row for each operation."""
    return Page("api.html", "The hub's API", ApiRecord(operations), _COMMAND)
