"""What a prime.lock says about one environment, for those who fetch or run it."""

from dataclasses import replace
from pathlib import Path

from prime_cli.core.refs import EnvRef, is_reference
from prime_cli.envs.locking.place import find_lock


def pinned_hash(ref: EnvRef | str, here: Path) -> str | None:
    """The sha256 that the workspace of `here` has locked for the wheel of `ref`.

    None without a prime.lock, for what is not in it, and for another version than it holds; a
    `ref` without a version means the locked one. Raises UsageError for a lock that cannot be read.
    """
    ref = EnvRef.parse(ref) if isinstance(ref, str) else ref
    lock = find_lock(here)
    entry = lock.find(ref) if lock else None
    if entry is None or ref.version not in (None, entry.env_ref.version):
        return None
    return entry.sha256


def locked_ref(text: str, here: Path) -> EnvRef | None:
    """The version, pinned to its sha256, that `name` or `owner/name` means in the workspace `here`.

    None where prime.lock does not have it, and for a text that says a version itself (`@latest`
    is one). Raises UsageError for a lock that cannot be read.
    """
    if "@" in text or "#" in text:
        return None
    lock = find_lock(here)
    if lock is None:
        return None
    if "/" not in text:
        entry = lock.find_name(text)
    else:
        entry = lock.find(EnvRef.parse(text)) if is_reference(text) else None
    return replace(entry.env_ref, sha256=entry.sha256) if entry else None
