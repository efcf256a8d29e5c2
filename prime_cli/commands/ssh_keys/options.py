"""What several commands for keys take, and the record that they print."""

from typing import Annotated, Any

import typer

from prime_cli.pods.public_keys import KnownKey
from prime_cli.wire.codec import to_builtins

SshKeyArg = Annotated[
    str,
    typer.Argument(metavar="SSH_KEY", help="Its name, fingerprint or id, or how the id begins."),
]


def record_of(key: KnownKey) -> dict[str, Any]:
    """A key in the hub's own names, with its type and fingerprint."""
    return {**to_builtins(key.key), "type": key.kind, "fingerprint": key.fingerprint}


def names_of(key: KnownKey) -> list[str]:
    """What the Tab key offers for it."""
    return [key.name, key.id]
