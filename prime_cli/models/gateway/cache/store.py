"""Kept answers on this disk: `<folder>/<2 hex digits>/<62 hex digits>.json`, one file each."""

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from prime_cli.core.paths import make_folder, open_descriptor

MOST_BYTES = 2 * 1024**3
"""What the answers may take in all; beyond it those go that were not used for the longest time."""

SCHEMA = 1
_ROOM = 0.9
"""The share of `MOST_BYTES` that is left when answers had to go."""


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer with status 200: a `body`, or the `events` of a stream, each without its end."""

    schema: int
    model: str
    content_type: str
    body: str | None = None
    events: list[str] | None = None


_decoder = msgspec.json.Decoder(Kept)


class ResponseStore:
    """Answers by the digest of what was asked; an answer that holds a secret is not kept.

    `scrub` is given bytes and returns them without secrets. A disk that cannot be written is
    told by `trouble`, and nothing more is kept.
    """

    def __init__(
        self, folder: Path, scrub: Callable[[bytes], bytes], *, most_bytes: int = MOST_BYTES
    ) -> None:
        self.trouble: str | None = None
        self._folder = folder
        self._scrub = scrub
        self._most_bytes = most_bytes
        self._written = 0
        self._pruning = threading.Lock()

    def open(self) -> None:
        """Make the folder, which its owner alone can read; raises StorageFailed."""
        make_folder(self._folder)

    def get(self, key: str) -> Kept | None:
        """What is kept under `key`; None also for what a crash left half written."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            kept = _decoder.decode(content)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if kept.schema != SCHEMA:
            return None
        with suppress(OSError):  # only the order in which answers go depends on it
            os.utime(path)
        return kept

    def put(self, key: str, kept: Kept) -> None:
        """Keep an answer, whole or not at all."""
        said = "".join([kept.body or "", *(kept.events or [])]).encode()
        if self.trouble is not None or self._scrub(said) != said:
            return
        content = msgspec.json.encode(kept)
        path = self._path(key)
        aside = path.with_name(f".{secrets.token_hex(6)}.tmp")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Not synced: a file that a crash has torn is no JSON, and counts as none.
            with os.fdopen(open_descriptor(aside, os.O_WRONLY | os.O_CREAT), "wb") as file:
                file.write(content)
            aside.replace(path)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            return
        self._written += len(content)
        if self._written > self._most_bytes // 10:
            self._written = 0
            threading.Thread(target=self.prune, name="prune-responses", daemon=True).start()

    def prune(self) -> None:
        """Drop what was not used for the longest time until the rest has room."""
        with self._pruning:
            found = sorted(self._files())
            size = sum(length for _, length, _ in found)
            if size <= self._most_bytes:
                return
            for _, length, path in found:
                if size <= self._most_bytes * _ROOM:
                    return
                with suppress(OSError):  # another process may have been faster
                    Path(path).unlink()
                    size -= length

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """(last use, bytes, path) of each file, those that a crash left aside included."""
        with suppress(OSError), os.scandir(self._folder) as shards:
            for shard in shards:
                with suppress(OSError), os.scandir(shard.path) as files:
                    for file in files:
                        facts = file.stat()
                        yield facts.st_mtime, facts.st_size, file.path

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"
