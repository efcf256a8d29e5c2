"""`…/@{version}/lock`, `/check` and `/signatures`: what our hubs keep beside a version."""

from prime_cli.api.connection import Connection
from prime_cli.api.environments import version_path
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.wire.check_reports import CheckReport
from prime_cli.wire.locks import Lock, Signatures


class VersionLocks:
    """What was resolved for a version's wheel; hubs without `locks` in their features have none."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, ref: EnvRef) -> Lock | None:
        """The lock of a version, None when the hub has none for it."""
        try:
            answer = self._connection.call("GET", f"{version_path(ref)}/lock")
        except NotFound:
            return None
        return answer.read(Lock)

    def put(self, ref: EnvRef, lock: Lock) -> None:
        """Attach `lock` to a version."""
        self._connection.call("PUT", f"{version_path(ref)}/lock", body=lock)


REPORTS_FEATURE = "checks"
"""The name under which hubs of ours announce that they keep reports."""


class CheckReports:
    """What checks found; hubs without `checks` in their features have no reports."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, ref: EnvRef) -> CheckReport | None:
        """The report of a version, None when the hub has none for it."""
        try:
            answer = self._connection.call("GET", f"{version_path(ref)}/check")
        except NotFound:
            return None
        return answer.read(CheckReport)

    def put(self, ref: EnvRef, report: CheckReport) -> None:
        """Attach `report` to a version."""
        self._connection.call("PUT", f"{version_path(ref)}/check", body=report)


class VersionSignatures:
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
