"""Keys of ssh, made by ssh-keygen without a passphrase, or of a number."""

import base64
import subprocess
from pathlib import Path

from tests.helpers.tools import needs

needs_ssh_keygen = needs("ssh-keygen")


def make_key(folder: Path, name: str = "id_ed25519") -> Path:
    """A new private key; its public half is beside it, with `.pub`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path


def public_line(key: Path) -> str:
    """What is in the `.pub` file of a private key."""
    return key.with_name(f"{key.name}.pub").read_text(encoding="utf-8").strip()


def line(number: int, comment: str = "") -> str:
    """The public line of a key that is told apart by its number; nobody has its private half."""
    parts = (b"ssh-ed25519", number.to_bytes(32, "big"))
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} {comment}".strip()
