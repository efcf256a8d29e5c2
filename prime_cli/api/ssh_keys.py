"""`/ssh_keys`: the public keys that open a user's pods."""

from urllib.parse import quote

from prime_cli.api.connection import Connection
from prime_cli.wire.ssh_keys import KeyChange, KeyUpload, SshKey, SshKeyPage


class SshKeys:
    """Keys of the user."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(self, *, offset: int = 0, limit: int = 100) -> SshKeyPage:
        """One page."""
        query = {"offset": offset, "limit": limit}
        return self._connection.call("GET", "/ssh_keys", query=query).read_exactly(SshKeyPage)

    def add(self, name: str, public_key: str) -> SshKey:
        """Let a public key open the user's pods."""
        return self._connection.call(
            "POST", "/ssh_keys", body=KeyUpload(name, public_key), repeatable=False
        ).read_exactly(SshKey)

    def remove(self, key_id: str) -> None:
        """Let it open none that is made from now on."""
        self._connection.call("DELETE", _path(key_id))

    def set_primary(self, key_id: str) -> None:
        """Let it be the one that pods are made with where none is named."""
        self._connection.call("PATCH", _path(key_id), body=KeyChange(is_primary=True))


def _path(key_id: str) -> str:
    return f"/ssh_keys/{quote(key_id, safe='')}"
