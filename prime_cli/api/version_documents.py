"""What our hubs keep beside a version; only hubs that announce a kind's feature have it."""

from prime_cli.api.connection import Connection
from prime_cli.api.environments import version_path
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.wire.version_documents import D, DocumentKind


class VersionDocuments:
    """Locks, check reports and signatures of versions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, ref: EnvRef, kind: DocumentKind[D]) -> D | None:
        """The document of a version, None when the hub has none."""
        try:
            answer = self._connection.call("GET", f"{version_path(ref)}/{kind.path}")
        except NotFound:
            return None
        return answer.read(kind.document_type)

    def put(self, ref: EnvRef, kind: DocumentKind[D], document: D) -> None:
        """Store the document of a version, in place of an older one; raises NotAllowed."""
        self._connection.call("PUT", f"{version_path(ref)}/{kind.path}", body=document)
