"""Edits to config.toml, which is the user's: comments, order and unknown words stay.

tomlkit edits the text. The result is parsed and compared with the intended one, and a file that
tomlkit would spoil is left alone.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from prime_cli.core.config.contexts import LOCAL, PRIME, read_table
from prime_cli.core.config.parsers import parse_hub_url
from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import storage_errors, write_atomically

Table = MutableMapping[str, Any]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def save_context(file: Path, name: str, values: Mapping[str, str | None]) -> None:
    """Add `[contexts.NAME]` to `file`, or change the existing one.

    `values` are `base_url`, `web_url` and `team`; None removes a value, and omitted ones stay. The
    built-in `prime` takes a team only. Raises UsageError for an invalid name or address.
    """
    check_context_name(name)
    if name == PRIME and set(values) - {"team"}:
        raise UsageError(f"The URLs of `{PRIME}` are built in", hint="choose another name")
    given = {key: value and _checked(key, value) for key, value in values.items()}

    def change(table: Table) -> None:
        contexts = _child(table, "contexts", file)
        if name in contexts:
            _merge(_child(contexts, name, file), given)
        elif new := {key: value for key, value in given.items() if value}:
            contexts[name] = new

    edit(file, change)


def delete_context(file: Path, name: str) -> bool:
    """Remove `[contexts.NAME]` from `file`, and `context = "NAME"`; False if there was none."""

    def change(table: Table) -> None:
        if name in table.get("contexts", {}):
            del _child(table, "contexts", file)[name]
        if table.get("context") == name:
            del table["context"]

    return edit(file, change)


def rename_context(file: Path, old: str, new: str) -> None:
    """Rename `[contexts.OLD]` of `file` to `new`, keeping it current if it is.

    Raises UsageError for an invalid name, NotFound for an unknown one, Conflict for one that is
    taken.
    """
    check_context_name(new)
    names = known_contexts(read_table(file))
    if old in (LOCAL, PRIME) or old not in names:
        raise NotFound(f"`{old}` is not a context in {file}", hint="see `prime context list`")
    if new in names:
        raise Conflict(f"The context `{new}` already exists", hint="choose another name")

    def change(table: Table) -> None:
        contexts = _child(table, "contexts", file)
        contexts[new] = contexts.pop(old)
        if table.get("context") == old:
            table["context"] = new

    edit(file, change)


def use_context(file: Path, name: str) -> None:
    """Make `name` the current context; raises NotFound if it is not in `file`."""
    if name not in known_contexts(read_table(file)):
        raise NotFound(f"There is no context `{name}`", hint="see `prime context list`")
    set_value(file, "context", name)


def known_contexts(table: Mapping[str, Any]) -> list[str]:
    """Names of contexts: built-in ones, then those of config.toml."""
    contexts = table.get("contexts")
    named = contexts if isinstance(contexts, Mapping) else {}
    return [LOCAL, PRIME, *(name for name in named if name not in (LOCAL, PRIME))]


def set_value(file: Path, name: str, value: str | bool | list[str]) -> bool:  # noqa: FBT001
    """Write `name = value` at the top of `file`; False if unchanged."""

    def change(table: Table) -> None:
        table[name] = value

    return edit(file, change)


def set_entry(file: Path, table: str, key: str, value: list[str] | None) -> bool:
    """Write `key = value` into `[table]` of `file`, or remove it; False if unchanged."""

    def change(whole: Table) -> None:
        if value is not None:
            _child(whole, table, file)[key] = value
        elif table in whole:
            entries = _child(whole, table, file)
            entries.pop(key, None)
            if not entries:
                del whole[table]

    return edit(file, change)


def unset_value(file: Path, name: str) -> bool:
    """Remove `name` from the top of `file`; False if it was not there."""

    def change(table: Table) -> None:
        table.pop(name, None)

    return edit(file, change)


def check_context_name(name: str) -> None:
    """Raise UsageError unless `name` is valid for a context."""
    if name == LOCAL:
        raise UsageError(f"`{LOCAL}` is the built-in hub", hint="choose another name")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be the name of a context",
            hint="use letters, digits, `-`, `_` and `.`",
        )


def edit(file: Path, change: Callable[[Table], None]) -> bool:
    """Apply `change` to the contents of `file`; False if nothing changed.

    One writer at a time; the file is replaced as a whole, mode 0600, behind a link if it is one.
    Raises UsageError for a file that is not TOML or that cannot be edited as written.
    """
    with locked(file.with_name("config.lock")):
        file = file.resolve()
        meant = read_table(file)
        before = _read(file)
        change(meant)
        after = _edited(before, change, meant, file)
        if after == before:
            return False
        write_atomically(file, after.encode("utf-8"))
        return True


def _edited(before: str, change: Callable[[Table], None], meant: Table, file: Path) -> str:
    import tomlkit

    document = tomlkit.parse(before)
    change(document)
    after = tomlkit.dumps(document)
    if _holds(after) != _comparable(meant):
        raise UsageError(f"{file} has a form that prime cannot edit", hint="change it in an editor")
    return after


def _holds(text: str) -> Table | None:
    try:
        return _comparable(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return None


def _comparable(table: Table) -> Table:
    """The document without the empty `[contexts]` that a lookup leaves."""
    return {key: value for key, value in table.items() if (key, value) != ("contexts", {})}


def _read(file: Path) -> str:
    with storage_errors(file):
        try:
            return file.read_bytes().decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            return ""


def _child(table: Table, key: str, file: Path) -> Table:
    child = table.setdefault(key, {})
    if not isinstance(child, MutableMapping):
        raise UsageError(f"{key} in {file} must be a table")
    return child


def _merge(entry: Table, values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        if value:
            entry[key] = value
        else:
            entry.pop(key, None)


def _checked(key: str, value: str) -> str:
    return parse_hub_url(value, key) if key.endswith("_url") else value
