"""With which words the commands about sandboxes are run, and the one that they find."""

from sqlalchemy import insert, select

from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import owners, sandboxes
from prime_cli.wire.codec import encode
from prime_cli.wire.sandboxes import TERMINATED, SandboxCreation
from tests.commands.walk.entry import Entry

ENDED = "5a17db0c-7e57-4b0c-9d1e-5a17db0c7e57"
_AT = "2026-11-20T10:00:00Z"

OF_SANDBOXES: dict[str, tuple[Entry, ...]] = {
    "prime sandbox create": (
        Entry(
            "sandbox create --name walked --timeout-minutes 1",
            wrong="sandbox create --gpu-count 1 --gpu-type H100_80GB",
            wrong_code=2,
            changes=True,
            slow=True,
        ),
    ),
    "prime sandbox list": (Entry("sandbox list"), Entry("sandbox list --all")),
    "prime sandbox get": (Entry(f"sandbox get {ENDED}", wrong="sandbox get no-such"),),
    "prime sandbox logs": (
        Entry(f"sandbox logs {ENDED}", wrong="sandbox logs no-such", is_text=True),
    ),
    "prime sandbox network": (Entry(f"sandbox network {ENDED}", wrong="sandbox network no-such"),),
    "prime sandbox delete": (
        Entry("sandbox delete --label no-such --yes", wrong="sandbox delete no-such --yes"),
    ),
}

PASSING_ON = {
    "prime sandbox run": "prints what the command prints",
    "prime sandbox upload": "moves a file",
    "prime sandbox download": "moves a file",
    "prime sandbox cp": "moves files, as cp does",
}


def leave_sandbox(hub: Hub) -> None:
    """One that has ended."""
    creation = SandboxCreation(name="old", docker_image="python:3.11-slim")
    with hub.database.write() as connection:
        user = connection.execute(select(owners.c.id).limit(1)).scalar_one()
        connection.execute(
            insert(sandboxes).values(
                id=ENDED, tag="prime-walk-old", user_id=user, name="old", image="python:3.11-slim",
                provider="bubblewrap", request=encode(creation).decode(), facts="{}", memory_gb=2.0,
                status=TERMINATED, created_at=_AT, updated_at=_AT, started_at=_AT,
                terminated_at=_AT, stop_at=_AT, holder="",
            )
        )  # fmt: skip
