"""`/publishers` of one of our hubs: CI jobs that publish without a key of their own."""

from urllib.parse import quote

from prime_cli.api.connection import HubConnection
from prime_cli.wire.publishers import (
    MintedKey,
    MintRequest,
    NewPublisher,
    Publisher,
    PublisherList,
)

_MOST_BYTES = 4 * 1024 * 1024


class Publishers:
    """Raises NotAllowed without a key of the scope `admin`, and NotFound on other hubs."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def list(self, owner: str | None = None, environment: str | None = None) -> list[Publisher]:
        """Those of what the user manages, newest first."""
        answer = self._connection.call(
            "GET",
            "/publishers",
            query={"owner": owner, "environment": environment},
            most=_MOST_BYTES,
        )
        return answer.read(PublisherList).publishers

    def add(self, new: NewPublisher) -> Publisher:
        """Trust jobs with those claims; raises Conflict, UsageError."""
        return self._connection.call("POST", "/publishers", body=new).read(Publisher)

    def remove(self, publisher_id: str) -> None:
        """Trust one no longer; raises NotFound."""
        self._connection.call("DELETE", f"/publishers/{quote(publisher_id, safe='')}")

    def mint_key(self, request: MintRequest) -> MintedKey:
        """A key for the job whose token it is; raises NotAllowed, Conflict."""
        return self._connection.call(
            "POST", "/publishers/mint-key", body=request, with_key=False
        ).read(MintedKey)
