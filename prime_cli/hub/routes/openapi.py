"""`/openapi.json` and `/docs`: what the addresses of the API take and give, from what routes them.

OpenAPI 3.1, <https://spec.openapis.org/oas/v3.1.0>; schemas are those of the wire structs.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli import __version__
from prime_cli.hub.browser_cookies import act_for_session
from prime_cli.hub.dispatch import hub_of
from prime_cli.hub.routes.responses import answer, answer_page
from prime_cli.hub.routes.router import Operation
from prime_cli.hub.urls import API, API_PAGE
from prime_cli.pages.api import OperationRow, api_page
from prime_cli.wire.problems import Problem

_REF = "#/components/schemas/{name}"
_IN_PATH = re.compile(r"{(\w+)}")
_PROBLEMS = {
    "401": "Missing or unknown API key",
    "403": "The API key does not permit this",
    "404": "Not found, or private and owned by someone else",
    "409": "Conflict with the current state, such as a name that is taken",
    "413": "Request body too large",
    "415": "Unsupported content type",
    "422": "Invalid value",
    "429": "Too many requests; retry after the time in `Retry-After`",
    "503": "Database or storage unavailable",
    "507": "Disk or bucket full or not writable",
}


def describe(operations: Sequence[Operation], public_url: str) -> dict[str, Any]:
    """The OpenAPI document of a hub at `public_url`."""
    wanted = [kind for op in operations for kind in (op.answers, op.takes) if kind is not None]
    kinds = list({repr(kind): kind for kind in [*wanted, Problem]}.values())
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    schema_of = {repr(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for op in operations:
        paths.setdefault(API + op.path, {})[op.method.lower()] = _operation(op, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "prime hub", "version": __version__},
        "servers": [{"url": public_url}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {"Problem": _json("Error", schema_of[repr(Problem)])},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(op: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": _id(op),
        "summary": op.summary,
        "tags": [op.path.split("/")[1]],
        "parameters": [*_path_parameters(op), *_query_parameters(op)],
        "security": [{"key": []}, {"basic": []}, *([] if op.needs_key else [{}])],
        "responses": {
            str(op.status): _json("Success", _schema(op, schema_of)),
            **{status: _json(why, schema_of[repr(Problem)]) for status, why in _PROBLEMS.items()},
        },
    }
    if op.takes is not None:
        content = {"application/json": {"schema": schema_of[repr(op.takes)]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _id(op: Operation) -> str:
    words = re.findall(r"\w+", op.path)
    return "_".join([op.method.lower(), *words])


def _path_parameters(op: Operation) -> Iterable[dict[str, Any]]:
    for name in _IN_PATH.findall(op.path):
        schema = {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(op: Operation) -> Iterable[dict[str, Any]]:
    for parameter in op.parameters:
        yield {
            "name": parameter.name,
            "in": "query",
            "description": parameter.help,
            "schema": parameter.schema(),
        }


def _schema(op: Operation, schema_of: dict[str, Any]) -> Any:
    schema = schema_of[repr(op.answers)] if op.answers is not None else {}
    if not op.enveloped:
        return schema
    return {"type": "object", "required": ["data"], "properties": {"data": schema}}


def _json(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def routes(operations: Sequence[Operation]) -> list[Route]:
    """Where both are found."""

    async def openapi(request: Request) -> Response:
        return answer(describe(operations, hub_of(request).settings.public_url))

    async def docs(request: Request) -> Response:
        await act_for_session(request)
        rows = [
            OperationRow(op.method, API + op.path, op.summary, op.needs_key) for op in operations
        ]
        return answer_page(request, api_page(rows))

    return [Route("/openapi.json", openapi), Route(API_PAGE, docs)]
