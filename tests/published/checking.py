"""Requests and answers held against the published tables: a sentence for each difference."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from tests.published.deviations import Deviation
from tests.published.notation import COMPUTE, Address, Schema, published

API = "/api/v1"
_ERRORS = (422, 501)
"""Published for 422 alone; what our hub refuses with 501 is to be read by the same clients."""

_FORMATS = FormatChecker(formats=())


def _is_a_moment(value: object) -> bool:
    """RFC 3339: with a time zone, which `fromisoformat` alone does not ask for."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


_FORMATS.checks("date-time", raises=ValueError)(_is_a_moment)


def faults_of_request(
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: Any,
    *,
    besides: Iterable[Deviation] = (),
    tables: tuple[str, ...] = COMPUTE,
) -> list[str]:
    """What of a request (`path` with /api/v1) the tables do not know; `besides` is let pass."""
    address = published(tables).find(method, path.removeprefix(API))
    if address is None:
        return [f"{method} {path} is no address"]
    faults = list(_faults_of_query(address, query, tables))
    if address.takes is None:
        faults += ["there is a body"] if body is not None else []
    else:
        faults += _differences(address.takes, body, besides, tables)
    return [f"{method} {path}: {fault}" for fault in faults]


def faults_of_traffic(request: httpx.Request) -> list[str]:
    """`faults_of_request` for one that is about to be sent; a slash too few is one more."""
    body = json.loads(request.content) if request.content else None
    query = list(request.url.params.multi_items())
    path = request.url.path
    faults = faults_of_request(request.method, path, query, body)
    address = published().find(request.method, path.removeprefix(API))
    if address is not None and address.path.endswith("/") != path.endswith("/"):
        faults.append(f"{request.method} {path} is published as {address.path}")
    return faults


def faults_of_answer(
    method: str,
    path: str,
    status: int,
    body: Any,
    *,
    besides: Iterable[Deviation] = (),
    tables: tuple[str, ...] = COMPUTE,
) -> list[str]:
    """What of an answer differs; statuses without a published schema have none to differ from."""
    address = published(tables).find(method, path.removeprefix(API))
    if address is None:
        return [f"{method} {path} is no address"]
    if status not in (200, 201, *_ERRORS):
        return []
    schema = {"$ref": "#/$defs/ErrorResponse"} if status in _ERRORS else address.gives
    faults = _differences(schema, body, besides, tables)
    return [f"{method} {path}: {fault}" for fault in faults]


def whole(schema: Schema, tables: tuple[str, ...] = COMPUTE) -> Schema:
    """A schema that can be read by itself: with all that it may refer to."""
    return {**schema, "$defs": published(tables).schemas}


def _faults_of_query(
    address: Address, query: Sequence[tuple[str, str]], tables: tuple[str, ...]
) -> Iterator[str]:
    for name in {name for name, _ in query}:
        schema = address.query.get(name)
        if schema is None:
            yield f"`?{name}` is not known"
            continue
        texts = [text for each, text in query if each == name]
        # A query is text: `8` is as good as the number, and a name once as good as a list of one.
        if not any(_is_valid(schema, value, tables) for value in (texts, *_readings(texts))):
            yield f"`?{name}` cannot be {texts}"


def _readings(texts: list[str]) -> Iterator[Any]:
    if len(texts) == 1:
        yield texts[0]
        if texts[0].lstrip("-").isdecimal():
            yield int(texts[0])
        if texts[0] in ("true", "false"):
            yield texts[0] == "true"


def _is_valid(schema: Schema, value: Any, tables: tuple[str, ...]) -> bool:
    return Draft202012Validator(whole(schema, tables), format_checker=_FORMATS).is_valid(value)


def _differences(
    schema: Schema,
    value: Any,
    besides: Iterable[Deviation],
    tables: tuple[str, ...] = COMPUTE,
) -> Iterator[str]:
    validator = Draft202012Validator(whole(schema, tables), format_checker=_FORMATS)
    for error in validator.iter_errors(value):
        if not _is_meant(error, besides):
            place = ".".join(map(str, error.absolute_path))
            yield f"{place or 'the whole'}: {error.message[:200]}"


def _is_meant(error: ValidationError, besides: Iterable[Deviation]) -> bool:
    """Whether it is a deviation, or nothing else is wrong with one of the alternatives."""
    if error.validator == "anyOf":
        alternatives: dict[Any, list[bool]] = {}
        for inner in error.context or ():
            meant = _is_meant(inner, besides)
            alternatives.setdefault(inner.schema_path[0], []).append(meant)
        return any(map(all, alternatives.values()))
    names = [part for part in error.absolute_path if isinstance(part, str)]
    return any(
        names[-1:] == [deviation.name] and error.instance in deviation.values
        for deviation in besides
    )
