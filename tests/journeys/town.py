"""A served hub that gives pods on this machine to its users, each a container of Podman."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.engines import IMAGE, podman
from tests.helpers.serving import ServedHub, serve
from tests.journeys.somebody import Somebody, require_ssh
from tests.official.accounts import Accounts


@dataclass
class Town:
    """The hub and its people."""

    hub: ServedHub
    data: Path
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


@contextmanager
def found_town(folder: Path) -> Iterator[Town]:
    """Serve the hub of a new town until the block ends; then its pods end too."""
    require_ssh()
    engine, data = podman(), folder / "hub"
    try:
        with serve_town(data, folder) as hub:
            accounts = Accounts(data)
            people = (_settle(hub, accounts, folder, slug) for slug in ("ada", "bob"))
            yield Town(hub, data, *people)
    finally:
        # Whatever became of the hub, containers are not left on the machine.
        for tag in engine.tags():
            engine.provider().end(tag)


@contextmanager
def serve_town(data: Path, folder: Path, *argv: str) -> Iterator[ServedHub]:
    """The hub of a town, once more if it has been killed."""
    words = ("--local-pods", "--pod-images", IMAGE, *argv)
    env = {"PRIME_HOME": str(folder / "hub-home"), "CONTAINER_HOST": podman().url}
    with serve(data, *words, env=env) as hub:
        yield hub


def _settle(hub: ServedHub, accounts: Accounts, folder: Path, slug: str) -> Somebody:
    key = accounts.add_user(slug)
    return Somebody(folder / slug, {**hub.variables, "PRIME_API_KEY": key})
