"""A hub that answers any request from the published schemas alone, as a transport for our client.

It holds what it is asked against the tables, and remembers what is not as published. What is not
published at all, such as environments, it does not have.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpx

from tests.published.checking import API, faults_of_request
from tests.published.deviations import Deviation
from tests.published.notation import COMPUTE, HUB, Address, Schema, published

TABLES = (*COMPUTE, *(name for name in HUB if name != "shared"), "sandboxes")


class Mode(StrEnum):
    """How much an answer says."""

    FULL = "everything"
    REQUIRED = "what is required"
    UNKNOWN = "everything and more"


_STATES = {
    "PodStatusEnum": "ACTIVE",
    "DiskStatusEnum": "ACTIVE",
    "InstallationStatusEnum": "FINISHED",
    "EvaluationStatus": "COMPLETED",
    "SandboxStatus": "RUNNING",
}
"""Where a thing has arrived; elsewhere the first of the values."""
_EMPTY = {"pods", "clusters", "failed"}
"""Lists of what would be in the way."""
_ENDING = {"PodStatusEnum", "DiskStatusEnum"}
"""What is TERMINATED once it was asked to be."""
_TEXTS = {
    "sshConnection": "root@192.0.2.1 -p 22",
    "userId": "user_1",
    "id": "thing_1",
    "teamId": "team_1",
    "slug": "ada",
    "name": "thing",
}
_COUNTS = {"page": 1, "limit": 100, "per_page": 100, "offset": 0, "skip": 0, "total_pages": 1}
_MOMENT = "2026-11-27T12:00:00Z"


@dataclass
class SchemaHub(httpx.BaseTransport):
    """`asked` is what was asked for, `faults` what of it is not as published."""

    mode: Mode
    asked: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    besides: Sequence[Deviation] = ()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        path = request.url.path.removeprefix(API)
        address = published(TABLES).find(request.method, path)
        if address is None:
            return httpx.Response(404, json={"detail": "Not Found"})
        if address.path.endswith("/") != path.endswith("/"):
            # FastAPI's answer to a slash too many or too few.
            self.faults.append(f"{request.method} {path} is published as {address.path}")
        body = json.loads(request.content) if request.content else None
        query = list(request.url.params.multi_items())
        self.faults += faults_of_request(
            request.method, request.url.path, query, body, besides=self.besides, tables=TABLES
        )
        self.asked.append(f"{request.method} {address.path}")
        return httpx.Response(200, content=json.dumps(self.answer_of(address)))

    def answer_of(self, address: Address) -> Any:
        """What the schema lets a hub say to it, in this mode."""
        said = self._value(address.gives, "", address.method)
        if isinstance(said, dict):
            rows = next((each for each in said.values() if isinstance(each, list)), [])
            counted = {"total_count", "total", "totalCount"} & said.keys()
            said.update(dict.fromkeys(counted, len(rows)))
        return said

    def _value(self, schema: Schema, name: str, method: str) -> Any:  # noqa: PLR0911
        if "$ref" in schema:
            kind = schema["$ref"].rpartition("/")[2]
            ended = kind in _ENDING and any(each.startswith("DELETE") for each in self.asked)
            state = "TERMINATED" if ended else _STATES.get(kind)
            return state or self._value(published(TABLES).schemas[kind], name, method)
        if "anyOf" in schema:
            return self._value(schema["anyOf"][0], name, method)
        if "enum" in schema:
            return schema["enum"][0]
        if schema.get("type") == "object" or "properties" in schema:
            return self._object(schema, method)
        if schema.get("type") == "array":
            return [] if name in _EMPTY else [self._value(schema["items"], name, method)]
        if schema.get("format") == "date-time":
            return _MOMENT
        plain = {"string": _TEXTS.get(name, f"{name} text"), "number": 1.5, "boolean": False}
        plain["integer"] = _COUNTS.get(name, max(1, schema.get("minimum", 1)))
        return plain.get(schema.get("type", ""))

    def _object(self, schema: Schema, method: str) -> dict[str, Any]:
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            return {"A100_80GB": self._value(others, "1", method)}
        properties = schema.get("properties", {})
        names = set(properties)
        if self.mode is Mode.REQUIRED:
            # A thing that is listed without its id cannot be named; a new one may lack it.
            listed = {"id", "data"} if method == "GET" else {"data"}
            names = set(schema.get("required", ())) | (listed & names)
        said = {name: self._value(properties[name], name, method) for name in sorted(names)}
        if self.mode is Mode.UNKNOWN:
            said |= {"x_new": {"deep": [1, None]}, "xNew": None}
        return said
