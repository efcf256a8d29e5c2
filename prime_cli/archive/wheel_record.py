"""Compare a wheel's content with its RECORD (the wheel format, PyPA specifications)."""

import base64
import csv
import hashlib
from pathlib import Path

from prime_cli.archive.limits import safe_name
from prime_cli.archive.wheels import Wheel, open_wheel
from prime_cli.core.errors import IntegrityError

_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


def check_record(path: Path) -> None:
    """Raise IntegrityError unless RECORD lists every member of the wheel with its sha256."""
    with open_wheel(path) as wheel:
        folder = wheel.dist_info()
        text = wheel.text(f"{folder}/RECORD")
        if text is None:
            raise IntegrityError(f"{path.name} has no RECORD")
        rows = {safe_name(name): digest for name, digest in read_record(text).items()}
        for member in listed_members(wheel, folder):
            if member not in rows:
                raise IntegrityError(f"RECORD of {path.name} does not list `{member}`")
            if rows[member] != record_digest(wheel, member):
                raise IntegrityError(f"`{member}` in {path.name} is not what RECORD says")
        for name in rows.keys() - wheel.members.keys():
            raise IntegrityError(f"RECORD of {path.name} lists `{name}`, which is not there")


def listed_members(wheel: Wheel, folder: str) -> list[str]:
    """The members that RECORD in `folder` must list: all but itself and its signatures."""
    unlisted = {f"{folder}/{name}" for name in ("RECORD", *_SIGNATURES)}
    return [member for member in wheel.members if member not in unlisted]


def read_record(text: str) -> dict[str, str]:
    """What a RECORD says of each path, which nobody has checked: `sha256=` and so on, or empty."""
    rows = csv.reader(text.splitlines())
    return {row[0]: row[1] if len(row) > 1 else "" for row in rows if row}


def record_digest(wheel: Wheel, member: str) -> str:
    """The sha256 of a member as RECORD writes it: urlsafe base64 without padding."""
    digest = hashlib.sha256()
    with wheel.open(member) as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return "sha256=" + base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
