"""SHA-256 of bytes and files, in hex."""

import hashlib
from pathlib import Path


def digest_bytes(content: bytes) -> str:
    """SHA-256 of `content`, 64 hex characters."""
    return hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks; raises OSError as `open` does."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
