"""SHA-256 of bytes and files, in hex."""

import hashlib
import re
from pathlib import Path

_SHA256 = re.compile(r"[0-9a-f]{64}")


def digest_bytes(content: bytes) -> str:
    """SHA-256 of `content`, 64 hex characters."""
    return hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks; raises OSError as `open` does."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_sha256(text: str) -> bool:
    """Whether `text` is a digest as produced here: 64 lowercase hex characters."""
    return _SHA256.fullmatch(text) is not None
