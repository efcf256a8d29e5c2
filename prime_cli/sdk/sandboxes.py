"""Sandboxes, as a program has them."""

import shlex
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from prime_cli.core.errors import PrimeError
from prime_cli.session import Session
from prime_cli.wire.command_sessions import STDERR, CommandSpec, Output, StartRequest
from prime_cli.wire.sandboxes import (
    DEFAULT_IMAGE,
    Executed,
    Sandbox,
    SandboxCreation,
    SandboxQuery,
)


class Sandboxes:
    """Create sandboxes, and run code in them; each is named by its id."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def create(
        self,
        image: str = DEFAULT_IMAGE,
        *,
        name: str | None = None,
        labels: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        network: str | None = None,
        timeout_minutes: int = 60,
    ) -> Sandbox:
        """Create one, which may still be on its way.

        `network` is `packages`, `internet` or `none`. Raises UsageError for wishes that cannot be
        met.
        """
        creation = SandboxCreation(
            name=name or f"sandbox-{uuid.uuid4().hex[:8]}",
            docker_image=image,
            labels=list(labels),
            environment_vars=dict(env or {}),
            network=network,
            timeout_minutes=timeout_minutes,
            idempotency_key=uuid.uuid4().hex,
        )
        return self._session.hub.sandboxes.create(creation)

    def list(self, *, labels: Sequence[str] = (), ended: bool = False) -> list[Sandbox]:
        """Those with all of `labels`, newest first; also those that have `ended`."""
        query = SandboxQuery(labels=tuple(labels), is_active=not ended, per_page=1000)
        return [*self._session.hub.sandboxes.all(query)]

    def get(self, sandbox_id: str) -> Sandbox:
        """One of them; raises NotFound."""
        return self._session.hub.sandboxes.get(sandbox_id)

    def run(
        self,
        sandbox_id: str,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        seconds: float = 300,
    ) -> Executed:
        """Run a program, without a shell, to its end: its output as text, and its exit code.

        One text is split into words as a shell would. Raises TooSlow after `seconds`, when it is
        ended.
        """
        words = shlex.split(command) if isinstance(command, str) else command
        spec = CommandSpec(tuple(words), dict(env or {}), cwd)
        parts = {True: bytearray(), False: bytearray()}
        code = None
        inside = self._session.hub.sandboxes.gateway(sandbox_id)
        for event in inside.run(StartRequest(spec), seconds=seconds):
            if isinstance(event, Output):
                parts[event.stream == STDERR] += event.data
            else:
                code = getattr(event, "code", None)
        if code is None:
            raise PrimeError("The command has no exit code")
        out, err = (bytes(parts[is_error]).decode(errors="replace") for is_error in (False, True))
        return Executed(out, err, code)

    def upload(self, sandbox_id: str, file: str | Path, path: str) -> int:
        """Store a local file at `path`; returns its size in bytes."""
        return self._session.hub.sandboxes.gateway(sandbox_id).upload(Path(file), path)

    def download(self, sandbox_id: str, path: str, file: str | Path) -> int:
        """Store the file at `path` locally; returns its size in bytes."""
        return self._session.hub.sandboxes.gateway(sandbox_id).download(path, Path(file))

    def delete(self, sandbox_id: str) -> None:
        """End it, and lose its files; raises NotFound."""
        self._session.hub.sandboxes.delete(sandbox_id)
