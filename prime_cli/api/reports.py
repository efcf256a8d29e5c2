"""`…/@{version}/check`: the report of a check that hubs of ours keep beside a version."""

from prime_cli.api.connection import Connection
from prime_cli.api.environments import version_path
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.wire.check_reports import CheckReport

FEATURE = "checks"
"""The name under which hubs of ours announce that they keep reports."""


class Reports:
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
