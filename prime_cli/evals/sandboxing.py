"""The sandbox of a run: made when it is asked for, with a folder for its environment's data."""

from dataclasses import replace
from pathlib import Path

from prime_cli.core.errors import InternalError
from prime_cli.core.paths import make_folder, prime_home
from prime_cli.core.uses import hold
from prime_cli.evals.plan import EvalPlan
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
    hold(prime_home(), SANDBOX, name)
    data = make_folder(prime_home() / SANDBOX / name)
    return find_sandbox(data, network=plan.allow_net)


def with_gateway(sandbox: Sandbox | None, socket: Path | None) -> Sandbox | None:
    """`sandbox` with the door to the gateway at `socket`, which every run in one has."""
    if sandbox is None:
        return None
    if socket is None:
        raise InternalError("A sandbox needs the gateway's socket, and there is none")
    return sandbox.with_socket(socket)


def with_file(sandbox: Sandbox | None, path: Path | None) -> Sandbox | None:
    """`sandbox` in which the file `path` can be read."""
    if sandbox is None or path is None:
        return sandbox
    return replace(sandbox, readable=(*sandbox.readable, path.absolute()))
