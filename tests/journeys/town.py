"""A served hub that gives pods on this machine to its users, each a system user of its own."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from prime_cli.hub.compute.local.provider import LocalProvider
from tests.helpers.serving import ServedHub, serve
from tests.helpers.tools import ON_CI
from tests.journeys.somebody import Somebody, require_ssh
from tests.official.accounts import Accounts


@dataclass
class Town:
    """The hub and where its pods are."""

    hub: ServedHub
    data: Path
    pods: Path
    ada: Somebody
    bob: Somebody

    def rent(self, somebody: Somebody, name: str) -> str:
        """A new pod of somebody's, which is up; its id."""
        argv = ("--gpu-type", "CPU_NODE", "--name", name, "--for", "1h", "--yes", "--wait")
        made = somebody.prime("pods", "create", *argv, "--output", "json").ok().json
        return str(made["id"])

    def end_all(self) -> None:
        """Give back every pod of everybody."""
        for somebody in (self.ada, self.bob):
            for pod in somebody.prime("pods", "list", "--output", "json").json["pods"]:
                somebody.prime("pods", "terminate", pod["id"], "--yes").ok()


def require_root() -> None:
    """Skip, or fail on CI, where no system users can be made."""
    if os.name != "posix" or os.geteuid() != 0:
        (pytest.fail if ON_CI else pytest.skip)("system users are made by root alone")
    require_ssh()


@contextmanager
def found_town(folder: Path) -> Iterator[Town]:
    """Serve the hub of a new town until the block ends; then its pods end too."""
    require_root()
    pods = Path(tempfile.mkdtemp(prefix="prime-town-"))
    pods.chmod(0o711)
    data = folder / "hub"
    try:
        with serve_town(data, pods, folder) as hub:
            accounts = Accounts(data)
            people = (_settle(hub, accounts, folder, slug) for slug in ("ada", "bob"))
            yield Town(hub, data, pods, *people)
    finally:
        # Whatever became of the hub, system users are not left on the machine.
        provider = LocalProvider(pods, users=True)
        for tag in provider.list_tags(""):
            provider.end(tag)
        shutil.rmtree(pods, ignore_errors=True)


@contextmanager
def serve_town(data: Path, pods: Path, folder: Path, *argv: str) -> Iterator[ServedHub]:
    """The hub of a town, once more if it has been killed."""
    words = ("--local-pods", "--pods-folder", str(pods), *argv)
    with serve(data, *words, env={"PRIME_HOME": str(folder / "hub-home")}) as hub:
        yield hub


def _settle(hub: ServedHub, accounts: Accounts, folder: Path, slug: str) -> Somebody:
    key = accounts.add_user(slug)
    return Somebody(folder / slug, {**hub.variables, "PRIME_API_KEY": key})
