"""What a prime.lock says about one environment, for those who fetch or run it."""

from pathlib import Path

from prime_cli.core.errors import IntegrityError
from prime_cli.core.refs import EnvRef, is_reference
from prime_cli.envs.locking.file import FILENAME
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
    """The exact version that `name` or `owner/name` stands for in the workspace of `here`.

    None where prime.lock does not have it, and for a text that says a version itself (`@latest`
    is one). Raises UsageError for a lock that cannot be read.
    """
    name, at, _ = text.rpartition("@")
    if at and name:
        return None
    lock = find_lock(here)
    if lock is None:
        return None
    if "/" not in text:
        entry = lock.find_name(text)
    else:
        entry = lock.find(EnvRef.parse(text)) if is_reference(text) else None
    return entry.env_ref if entry else None


def check_pin(ref: EnvRef, sha256: str, here: Path) -> None:
    """Raises IntegrityError when the workspace of `here` has locked `ref` in other bytes."""
    pinned = pinned_hash(ref, here)
    if pinned is not None and pinned != sha256:
        raise differs(ref, sha256, pinned)


def differs(ref: EnvRef, sha256: str, pinned: str) -> IntegrityError:
    """The refusal of bytes that are not the locked ones."""
    return IntegrityError(
        f"The wheel of {ref} is not the one in {FILENAME}: its sha256 is {sha256[:16]}…, and "
        f"{pinned[:16]}… is locked",
        hint=f"ask its owner why; `prime env lock {ref.slug}` takes what the hub has now",
    )
