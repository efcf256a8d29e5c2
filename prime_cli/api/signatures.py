"""`…/@{version}/signatures`: the signatures that hubs of ours keep beside a version."""

from prime_cli.api.connection import Connection
from prime_cli.api.environments import version_path
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.wire.locks import Signatures


class SignatureCalls:
    """Signatures of versions; hubs without `signatures` in their features keep none."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, ref: EnvRef) -> Signatures | None:
        """The signatures of a version, None when the hub has none for it."""
        try:
            answer = self._connection.call("GET", f"{version_path(ref)}/signatures")
        except NotFound:
            return None
        return answer.read(Signatures)

    def put(self, ref: EnvRef, signatures: Signatures) -> None:
        """Let these be the signatures of a version."""
        self._connection.call("PUT", f"{version_path(ref)}/signatures", body=signatures)
