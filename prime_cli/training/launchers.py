"""Who started prime on several machines, and which of them this one is."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import UsageError

_MARK = re.compile(r"[^\w.-]")


@dataclass(frozen=True)
class Launched:
    """Process `rank` of the `count` that `by` started, each on a machine of its own; all have the
    same `job`. This machine is known to the others by its `name`.
    """

    by: str
    rank: int
    count: int
    job: str
    name: str

    def mark(self, trainings: Path) -> Path:
        """The file in which the first one names the folder of the training to the others."""
        return trainings / f".nodes-{_MARK.sub('-', self.job)}.json"


def find_launched(environ: Mapping[str, str]) -> Launched | None:
    """What Slurm's `srun` or torchrun say of this process; None if neither started it.

    A script of `sbatch` is none of the tasks: it has a job, and no step.
    """
    try:
        if "SLURM_STEP_ID" in environ and "SLURM_PROCID" in environ:
            return Launched(
                "Slurm",
                int(environ["SLURM_PROCID"]),
                int(environ["SLURM_NTASKS"]),
                f"{environ['SLURM_JOB_ID']}.{environ['SLURM_STEP_ID']}",
                environ.get("SLURMD_NODENAME") or socket.gethostname(),
            )
        if "TORCHELASTIC_RUN_ID" in environ:
            where = environ["MASTER_ADDR"], environ["MASTER_PORT"]
            return Launched(
                "torchrun",
                int(environ["RANK"]),
                int(environ["WORLD_SIZE"]),
                "-".join((environ["TORCHELASTIC_RUN_ID"], *where)),
                socket.gethostname(),
            )
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"The variables of the launcher are incomplete: {error}",
            hint="start one task on each machine: `srun --nodes N --ntasks-per-node 1 prime train`",
        ) from error
    return None


def require_count(launched: Launched, nodes: int) -> None:
    """Raise UsageError unless it was started once on each of the `nodes`."""
    if launched.count != nodes:
        raise UsageError(
            f"{launched.by} started prime {launched.count} times, and `--nodes {nodes}` needs "
            f"{nodes}, one on each machine",
            hint=f"`srun --nodes {nodes} --ntasks-per-node 1 prime train`, or of torchrun "
            f"`--nnodes {nodes} --nproc-per-node 1`",
        )


def address_of(asked: str | None, launched: Launched | None, nodes: int) -> str:
    """The IPv4 address by which the other machines reach this one; raises UsageError.

    That `asked` for, which may be a name, else that of the name by which the launcher knows it.
    """
    if asked is None and launched is None:
        in_slurm = "SLURM_JOB_ID" in os.environ
        by_slurm = f"`srun --nodes {nodes} --ntasks-per-node 1 prime train`, or "
        raise UsageError(
            f"`--nodes {nodes}` needs the address by which the other machines reach this one",
            hint=f"{by_slurm if in_slurm else ''}`--address ADDRESS`, of a private network",
        )
    name = asked or (launched.name if launched else "")
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
            one.bind((found, 0))
    except OSError as error:
        raise UsageError(
            f"`{name}` is no IPv4 address of this machine: {error.strerror or error}",
            hint="`--address ADDRESS`: see `ip -4 address`",
        ) from error
    if asked is None and str(found).startswith("127."):
        raise UsageError(
            f"This machine's name `{name}` leads to {found}, which no other machine reaches",
            hint="`--address ADDRESS`: see `ip -4 address`",
        )
    return str(found)
