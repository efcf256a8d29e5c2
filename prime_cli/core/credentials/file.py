"""`$PRIME_HOME/credentials.toml`, mode 0600: the keys that no keyring keeps.

    [contexts.team]
    hub = "https://hub.example.org"
    key = "prime_sk_…"

    [contexts.prime]
    hub = "https://api.primeintellect.ai"
    keyring = "prime at https://api.primeintellect.ai (/home/ada/.prime)"

A key is good for the address beside it only, so a context that is changed to another hub has none.
`keyring` is the account under which the system's keyring has the key of service `prime-cli`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.config.settings import read_table
from prime_cli.core.errors import UsageError
from prime_cli.core.file_lock import locked
from prime_cli.core.paths import write_atomically


@dataclass(frozen=True)
class Entry:
    """What is kept for one context: the key itself, or the keyring's account that has it."""

    hub: str
    key: str | None = field(default=None, repr=False)
    account: str | None = None


def credentials_file(home: Path) -> Path:
    """Where the entries of a home are."""
    return home / "credentials.toml"


def read_entries(home: Path) -> dict[str, Entry]:
    """The entries by context; {} if there is no file; raises UsageError where it is not TOML."""
    file = credentials_file(home)
    contexts = read_table(file).get("contexts", {})
    if not isinstance(contexts, dict):
        raise UsageError(f"contexts in {file} must be a table")
    return {
        name: Entry(str(entry["hub"]), _text(entry, "key"), _text(entry, "keyring"))
        for name, entry in contexts.items()
        if isinstance(entry, dict) and "hub" in entry
    }


def change_entries(home: Path, changes: Mapping[str, Entry | None]) -> None:
    """Write the entries of `changes`, and take out those that are None; the others stay.

    One writer at a time; the file is replaced as a whole. Raises StorageFailed, Conflict.
    """
    import tomli_w

    file = credentials_file(home)
    with locked(file.with_name("credentials.lock")):
        entries: dict[str, Entry | None] = {**read_entries(home), **changes}
        tables = {name: _table(entry) for name, entry in entries.items() if entry is not None}
        write_atomically(file, tomli_w.dumps({"contexts": tables}).encode("utf-8"))


def _table(entry: Entry) -> dict[str, str]:
    values = {"hub": entry.hub, "key": entry.key, "keyring": entry.account}
    return {name: value for name, value in values.items() if value is not None}


def _text(entry: Mapping[str, object], name: str) -> str | None:
    value = entry.get(name)
    return value if isinstance(value, str) and value else None
