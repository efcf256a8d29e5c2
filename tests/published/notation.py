"""Tables of an API, read: addresses and JSON Schemas from text that shows nothing but facts.

```
GET /pods/ gives PodPage          an address below /api/v1; `takes NAME` says what its body is
    limit  integer                what may stand behind its `?`
PodPage                           an object; `and nothing else` lets it have no other names
    data*  [Pod]                  a name of it, with a star where it must be there
Currency one of USD EUR           a text of which these are all values
Prices is {number}                another name for a type
```

Types: `string`, `integer`, `number`, `boolean`, `object`, `date-time`, `any`, names of the tables,
`[T]` for a list, `{T}` for an object of any names, `(a|b)` for these texts, `T|U` for either, `T?`
for null as well; a number after `>`, `>=` or `<=` bounds values, and the length of a string.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

COMPUTE = ("shared", "pods", "availability", "disks", "ssh_keys")
"""What our client asks too, and other hubs are asked for by it."""
HUB = ("shared", "evaluations", "secrets", "users")
"""What official clients ask of a hub besides, where ours answers."""
INFERENCE = ("shared", "inference")
"""What is asked of models; our hub has both under one address."""
NOT_HERE = ("shared", "not_here")
"""What our hub does not do."""
_ADDRESS = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (\S+)(?: takes (\S+))? gives (\S+)")
_PLAIN = re.compile(r"(string|integer|number|boolean|object|date-time)((?:[<>]=?\d+)*)")
_BOUND = re.compile(r"([<>]=?)(\d+)")
_BOUNDS = {">=": "minimum", ">": "exclusiveMinimum", "<=": "maximum"}
_LENGTHS = {"<=": "maxLength"}


@dataclass(frozen=True)
class Address:
    """One method of one address, with the schemas of its query, its body and its answer."""

    method: str
    path: str
    takes: Schema | None
    gives: Schema
    query: dict[str, Schema] = field(default_factory=dict)

    def fits(self, method: str, path: str) -> bool:
        """Whether a request goes here, with or without a slash at its end."""
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(self.path.strip("/")))
        return method == self.method and re.fullmatch(pattern, path.strip("/")) is not None


@dataclass(frozen=True)
class Published:
    """Everything that the tables say; `schemas` are by name, and refer to each other."""

    addresses: list[Address]
    schemas: dict[str, Schema]

    def find(self, method: str, path: str) -> Address | None:
        """Where a request goes; an address without a part in braces before one with."""
        fitting = [each for each in self.addresses if each.fits(method, path)]
        return min(fitting, key=lambda each: each.path.count("{"), default=None)


@cache
def published(tables: tuple[str, ...] = COMPUTE) -> Published:
    """Tables beside this file, by name."""
    texts = (Path(__file__).with_name(f"{name}.txt") for name in tables)
    return read_tables("\n".join(text.read_text(encoding="utf-8") for text in texts))


def read_tables(text: str) -> Published:
    """Addresses and schemas of tables in the notation; raises ValueError for another."""
    found = Published([], {})
    for head, rows in _blocks(text.splitlines()):
        if match := _ADDRESS.fullmatch(head):
            method, path, takes, gives = match.groups()
            body = read_type(takes) if takes else None
            query = {name: read_type(kind) for name, kind in map(str.split, rows)}
            found.addresses.append(Address(method, path, body, read_type(gives), query))
        else:
            name, _, rest = head.partition(" ")
            found.schemas[name] = _read_schema(rest, rows)
    return found


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each line that starts at the left, with those below it that do not."""
    block: list[str] = []
    for line in lines:
        if line and not line.startswith((" ", "#")):
            if block:
                yield block[0], block[1:]
            block = []
        if line.strip() and not line.startswith("#"):
            block.append(line.strip())
    if block:
        yield block[0], block[1:]


def _read_schema(rest: str, rows: list[str]) -> Schema:
    if rest.startswith("one of "):
        return {"enum": " ".join([rest.removeprefix("one of "), *rows]).split()}
    if rest.startswith("is "):
        return read_type(rest.removeprefix("is "))
    properties = dict(map(str.split, rows))
    return {
        "type": "object",
        "properties": {name.rstrip("*"): read_type(kind) for name, kind in properties.items()},
        "required": [name.rstrip("*") for name in properties if name.endswith("*")],
        "additionalProperties": rest != "and nothing else",
    }


def read_type(text: str) -> Schema:
    """The JSON Schema of a type; raises ValueError for what is none."""
    if not text:
        raise ValueError("nothing is no type")
    if text.endswith("?"):
        return {"anyOf": [read_type(text[:-1]), {"type": "null"}]}
    if len(either := _split(text)) > 1:
        return {"anyOf": [read_type(each) for each in either]}
    if text[0] in _BRACKETS:
        return _BRACKETS[text[0]](text[1:-1])
    if match := _PLAIN.fullmatch(text):
        return _plain(match[1], _BOUND.findall(match[2]))
    if not text.isidentifier():
        raise ValueError(f"`{text}` is no type")
    return {} if text == "any" else {"$ref": f"#/$defs/{text}"}


_BRACKETS: dict[str, Callable[[str], Schema]] = {
    "(": lambda inner: {"enum": inner.split("|")},
    "[": lambda inner: {"type": "array", "items": read_type(inner)},
    "{": lambda inner: {"type": "object", "additionalProperties": read_type(inner)},
}


def _split(text: str) -> list[str]:
    """The alternatives of `T|U`, those within brackets not counted."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _plain(kind: str, bounds: list[tuple[str, str]]) -> Schema:
    if kind == "date-time":
        return {"type": "string", "format": "date-time"}
    names = _LENGTHS if kind == "string" else _BOUNDS
    return {"type": kind, **{names[sign]: int(number) for sign, number in bounds}}
