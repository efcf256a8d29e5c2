"""The sandbox of a run: made when it is asked for, with a folder for its environment's data."""

from dataclasses import replace
from pathlib import Path

from prime_cli.core.errors import InternalError
from prime_cli.core.file_locks import mark_in_use
from prime_cli.core.paths import make_folder, prime_home
from prime_cli.core.progress import Progress
from prime_cli.runs.plan import EvalPlan
from prime_cli.runtime.launch import Walls
from prime_cli.runtime.network_namespace import NetworkNamespace, find_namespace
from prime_cli.runtime.sandbox import Sandbox, find_sandbox

SANDBOX = "sandbox"


def sandbox_for(plan: EvalPlan) -> Sandbox | None:
    """What `plan` asks for; None without `--sandbox`.

    Each environment has a folder for the data sets that it downloads, by the digest of its wheel:
    it is filled under `--allow-net` and read without. Raises UsageError where no sandbox can be
    had, StorageFailed.
    """
    if not plan.sandbox:
        return None
    name = plan.environment.sha256[:32]
    mark_in_use(prime_home(), SANDBOX, name)
    data = make_folder(prime_home() / SANDBOX / name)
    return find_sandbox(data, network=plan.allow_net)


def namespace_for(plan: EvalPlan, progress: Progress) -> NetworkNamespace | None:
    """What keeps a run to its gateway; None where nothing does, or a sandbox without a network.

    Without one Python's own sockets are all that is seen, which is said.
    """
    if not plan.only_gateway or plan.sandbox:
        return None
    found, why = find_namespace()
    if found is None:
        progress.warn(
            f"`--only-gateway` refuses what Python connects to and no more: {why}. Not seen are "
            "programs that the environment starts, and libraries in C",
            hint="on Linux, install bubblewrap: it takes the network from all of them",
        )
    return found


def with_gateway(walls: Walls | None, socket: Path | None) -> Walls | None:
    """`walls` with the door to the gateway at `socket`, which every run behind some has."""
    if walls is None:
        return None
    if socket is None:
        raise InternalError("A sandbox needs the gateway's socket, and there is none")
    return walls.with_socket(socket)


def with_file(walls: Walls | None, path: Path | None) -> Walls | None:
    """`walls` behind which the file `path` can be read."""
    if not isinstance(walls, Sandbox) or path is None:
        return walls
    return replace(walls, readable=(*walls.readable, path.absolute()))
