"""What the operator of a served hub has chosen, and the settings that it makes."""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.hub.settings import HubSettings
from prime_cli.hub.storage import open_storage

HOST = "127.0.0.1"
PORT = 8480
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServeOptions:
    """The choices of `prime hub serve`, as plain values that another process can be given.

    `database` and `storage` are as in `HubSettings` and `open_storage`; None is a file and a folder
    in `data`. `public_url` is how clients reach the hub, by default the address it listens on.
    """

    data: Path
    host: str = HOST
    port: int = PORT
    database: str | None = None
    storage: str | None = None
    public_url: str | None = None
    admin: str = "admin"
    tls_cert: Path | None = None
    tls_key: Path | None = None
    workers: int = 1

    @property
    def url(self) -> str:
        """The origin that clients use; no slash at its end."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}"

    def settings(self) -> HubSettings:
        """The settings of the application; raises UsageError for a storage that is none."""
        return HubSettings(
            data=self.data,
            owner=self.admin,
            embedded=False,
            accounts=True,
            public_url=self.url,
            database=self.database,
            storage=None if self.storage is None else open_storage(self.storage),
        )
