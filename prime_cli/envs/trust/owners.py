"""Owners that were trusted on this machine: `$PRIME_HOME/trusted.toml`, written by prime alone."""

import tomllib
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import tomli_w

from prime_cli.core.errors import UsageError
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import storage_errors, write_atomically

FILENAME = "trusted.toml"
_PORTS = {"http": ":80", "https": ":443"}
_HEAD = "# Owners whose code may run here. Written by `prime env trust`; one table an owner.\n\n"


@dataclass(frozen=True)
class TrustedOwner:
    """An owner on the hub of that origin; `how` is `asked`, `--yes`, `command` or `own`."""

    hub: str
    owner: str
    how: str
    since: str

    def is_one(self, hub: str, owner: str) -> bool:
        """Whether this is `owner` of the hub at `hub`, however its address is spelled."""
        return (_normal(self.hub), self.owner) == (_normal(hub), owner)


class TrustedOwners:
    """The list in `home`; a name on one hub is nobody on another."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILENAME

    def all(self) -> list[TrustedOwner]:
        """Everyone on the list; raises UsageError when the file cannot be understood."""
        with storage_errors(self._file):
            if not self._file.is_file():
                return []
            content = self._file.read_bytes()
        try:
            rows = tomllib.loads(content.decode("utf-8")).get("owner", [])
            return [TrustedOwner(**row) for row in rows]
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
            raise UsageError(
                f"{self._file} cannot be understood: {error}",
                hint="correct it, or move it away: who is trusted is then asked again",
            ) from error

    def has(self, hub: str, owner: str) -> bool:
        """Whether `owner` is trusted on the hub of the origin `hub`."""
        return any(each.is_one(hub, owner) for each in self.all())

    def add(self, hub: str, owner: str, *, how: str) -> None:
        """Put an owner on the list; one who is there stays as he is. Raises StorageFailed."""
        with self._locked():
            listed = self.all()
            if not any(each.is_one(hub, owner) for each in listed):
                since = datetime.now(UTC).isoformat(timespec="seconds")
                self._write([*listed, TrustedOwner(_normal(hub), owner, how, since)])

    def remove(self, hub: str, owner: str) -> bool:
        """Take an owner off the list; whether he was there. Raises StorageFailed."""
        with self._locked():
            listed = self.all()
            kept = [each for each in listed if not each.is_one(hub, owner)]
            if len(kept) < len(listed):
                self._write(kept)
        return len(kept) < len(listed)

    def _locked(self) -> AbstractContextManager[None]:
        """What one process adds, another that writes at the same time must not lose."""
        return locked(self._file.with_name("trusted.lock"))

    def _write(self, owners: list[TrustedOwner]) -> None:
        table = {"owner": [asdict(each) for each in owners]}
        write_atomically(self._file, (_HEAD + tomli_w.dumps(table)).encode())


def _normal(hub: str) -> str:
    """An address of a hub as it compares: lower case, no usual port, no slash at its end."""
    parts = urlsplit(hub)
    netloc = parts.netloc.lower().removesuffix(_PORTS.get(parts.scheme.lower(), ""))
    return f"{parts.scheme.lower()}://{netloc}{parts.path.rstrip('/')}"
