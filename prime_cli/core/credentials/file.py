"""`$PRIME_HOME/credentials.toml`, mode 0600: the keys that no keyring keeps.

    [contexts.team]
    hub = "https://hub.example.org"
    key = "prime_sk_…"

A key is good for the address beside it only, so a context that is changed to another hub has none.
"""

from dataclasses import dataclass, field
from pathlib import Path

from prime_cli.core.config.settings import read_table


@dataclass(frozen=True)
class Entry:
    """What is kept for one context."""

    hub: str
    key: str | None = field(repr=False)


def read_entries(file: Path) -> dict[str, Entry]:
    """The entries by context; {} if there is no file; raises UsageError where it is not TOML."""
    contexts = read_table(file).get("contexts", {})
    return {
        name: Entry(str(entry["hub"]), entry.get("key"))
        for name, entry in contexts.items()
        if isinstance(entry, dict) and "hub" in entry
    }
