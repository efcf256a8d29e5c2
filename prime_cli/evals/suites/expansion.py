"""From the sections of a suite's TOML to one table of fields for each evaluation.

`[[eval]]` and `[[ablation]]` mean what they mean to vf-eval 0.1.14: fields at the top are defaults;
an ablation is the cartesian product of the lists in its `[ablation.sweep]`, those in
`[ablation.sweep.args]` being arguments of the environment. `[[matrix]]` is ours: `models` x
`environments` x its sweep. Ours is also `exclude`, in an ablation or a matrix: tables of fields;
an evaluation that has all the values of one of them is left out.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prime_cli.core.errors import UsageError

Table = dict[str, Any]

_ARGS = ("args", "env_args")
_SECTIONS = ("eval", "ablation", "matrix")
_OWN = ("suite",)


def expand(document: Mapping[str, Any]) -> list[Table]:
    """The fields of each evaluation, in the order of the file; environment arguments in `args`.

    Raises UsageError for unknown, unrepeated or contradictory sections.
    """
    for name in _SECTIONS:
        if not _is_list_of_tables(document.get(name, [])):
            raise UsageError(f"[{name}] must be written [[{name}]]: there may be several")
    defaults = {key: value for key, value in document.items() if key not in (*_SECTIONS, *_OWN)}
    cells = [_merged(defaults, _named(entry, "[[eval]]")) for entry in document.get("eval", [])]
    for entry in document.get("ablation", []):
        cells.extend(_ablation(defaults, entry, "ablation"))
    for entry in document.get("matrix", []):
        cells.extend(_matrix(defaults, entry))
    if not cells:
        raise UsageError(
            "This file has no evaluations",
            hint='add `[[eval]]` with `id = "owner/name"`',
        )
    return cells


def _matrix(defaults: Table, entry: Table) -> Iterator[Table]:
    entry = dict(entry)
    sweep = dict(_table(entry.pop("sweep", {}), "matrix.sweep"))
    for plural, field in (("environments", "env_id"), ("models", "model")):
        if plural in entry:
            sweep = {field: entry.pop(plural), **sweep}
    yield from _ablation(defaults, {**entry, "sweep": sweep}, "matrix")


def _ablation(defaults: Table, entry: Table, section: str) -> Iterator[Table]:
    entry = dict(entry)
    sweep = _named(_table(entry.pop("sweep", {}), f"{section}.sweep"), f"[{section}.sweep]")
    unwanted = entry.pop("exclude", [])
    if not _is_list_of_tables(unwanted):
        raise UsageError(f"[{section}.exclude] must be written [[{section}.exclude]]")
    excludes = [_named(each, f"[[{section}.exclude]]") for each in unwanted]
    fixed = _named(entry, f"[[{section}]]")
    swept_args = _arguments(sweep, f"{section}.sweep")
    both = set(_arguments(fixed, section)) & set(swept_args)
    if both:
        raise UsageError(f"[[{section}]] has {_listed(both)} both among `args` and in its sweep")
    dimensions = [
        *((("field", key), value) for key, value in sweep.items() if key not in _ARGS),
        *((("argument", key), value) for key, value in swept_args.items()),
    ]
    if not dimensions:
        raise UsageError(f"[[{section}]] has no [{section}.sweep], so nothing varies")
    for combination in _combinations(dimensions, section):
        own = {key: value for (kind, key), value in combination if kind == "field"}
        args = {key: value for (kind, key), value in combination if kind == "argument"}
        cell = _merged(defaults, {**fixed, **own})
        cell["args"] = {**cell.get("args", {}), **args}
        if not any(_matches(cell, excluded) for excluded in excludes):
            yield cell


def _combinations(
    dimensions: list[tuple[tuple[str, str], Any]], section: str
) -> Iterator[tuple[tuple[tuple[str, str], Any], ...]]:
    for (_, key), values in dimensions:
        if not isinstance(values, list) or not values:
            raise UsageError(f"`{key}` in [{section}.sweep] must be a list of values")
    keys = [key for key, _ in dimensions]
    for values in itertools.product(*(values for _, values in dimensions)):
        yield tuple(zip(keys, values, strict=True))


def _merged(defaults: Table, own: Table) -> Table:
    """`own` over `defaults`; a model named in one way replaces a default named in the other."""
    cell = {**_named(defaults, "the top of the file", required=False), **own}
    for name, other in (("model", "endpoint_id"), ("endpoint_id", "model")):
        if name in own and other not in own:
            cell.pop(other, None)
    args = _arguments(cell, "args")
    cell = {key: value for key, value in cell.items() if key not in (*_ARGS, "taskset", "harness")}
    return {**cell, "args": args}


def _arguments(table: Table, where: str) -> Table:
    """`args` and `env_args` together, with `taskset` and `harness` as sections of `config`."""
    args, older = (dict(_table(table.get(name, {}), f"{where}.{name}")) for name in _ARGS)
    both = set(args) & set(older)
    if both:
        raise UsageError(f"`args` and `env_args` both have {_listed(both)}")
    merged = {**older, **args}
    sections = {name: _table(table[name], name) for name in ("taskset", "harness") if name in table}
    if sections:
        merged["config"] = {**_table(merged.get("config", {}), "args.config"), **sections}
    return merged


def _named(table: Mapping[str, Any], where: str, *, required: bool = True) -> Table:
    """The fields with the environment's name as `env_id`."""
    names = [name for name in ("id", "env_id", "environment") if name in table]
    if len(names) > 1:
        raise UsageError(f"{where} gives its environment twice: {_listed(names)}")
    if where == "[[eval]]" and required and not names:
        raise UsageError("An [[eval]] has no environment", hint='write `id = "owner/name"`')
    kept = {key: value for key, value in table.items() if key not in names}
    return {"env_id": table[names[0]], **kept} if names else kept


def _matches(cell: Table, excluded: Table) -> bool:
    args = _arguments(excluded, "exclude")
    fields = {key: value for key, value in excluded.items() if key not in _ARGS}
    own = cell.get("args", {})
    return all(cell.get(key) == value for key, value in fields.items()) and all(
        own.get(key) == value for key, value in args.items()
    )


def _table(value: object, where: str) -> Table:
    if not isinstance(value, dict):
        raise UsageError(f"`{where}` must be a table")
    return value


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
