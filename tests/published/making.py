"""Anything that the published tables allow, by chance: nulls, names left out, and names to come."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.published.notation import Schema, published

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_MOMENTS = st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")
_ALWAYS = frozenset({"id"})
"""What has no name cannot be asked for again; the schemas let it be left out."""


def answers(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that `schema` allows."""
    if "$ref" in schema:
        return answers(published().schemas[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of(*map(answers, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _TYPES[schema.get("type")](schema)


def _objects(schema: Schema) -> st.SearchStrategy[Any]:
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        return st.dictionaries(_TEXT, answers(others), max_size=3)
    properties = {name: answers(each) for name, each in schema.get("properties", {}).items()}
    always = (_ALWAYS | set(schema.get("required", ()))) & properties.keys()
    known = st.fixed_dictionaries(
        {name: properties[name] for name in always},
        optional={name: properties[name] for name in properties.keys() - always},
    )
    unknown = st.dictionaries(_TEXT.map(lambda name: f"x-{name}"), _TEXT, max_size=2)
    return st.builds(lambda one, other: {**other, **one}, known, unknown)


_TYPES: dict[str | None, Callable[[Schema], st.SearchStrategy[Any]]] = {
    "integer": lambda _: st.integers(0, 2**40),
    "number": lambda _: st.integers(0, 2**20) | st.floats(0, 1e6),
    "boolean": lambda _: st.booleans(),
    "null": lambda _: st.none(),
    "string": lambda schema: _MOMENTS if "format" in schema else _TEXT,
    "array": lambda schema: st.lists(answers(schema["items"]), max_size=3),
    "object": _objects,
    None: lambda _: st.none() | _TEXT | st.dictionaries(_TEXT, _TEXT, max_size=2),
}
