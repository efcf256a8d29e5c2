"""Which of several machines this one is, by Slurm, and the address by which others reach it."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import UsageError


@dataclass(frozen=True)
class SlurmTask:
    """Task `rank` of the `count` that `srun` started; all have the same `job`.

    The other machines know this one by its `host`.
    """

    rank: int
    count: int
    job: str
    host: str

    def mark(self, trainings: Path) -> Path:
        """The file in which the first one names the folder of the training to the others."""
        return trainings / f".nodes-{self.job}.json"


def find_task(environ: Mapping[str, str], nodes: int) -> SlurmTask | None:
    """The task that this process is; None if `srun` did not start it.

    Raises UsageError unless there is one on each of the `nodes`. A script of `sbatch` is no task:
    it has a job, and no step.
    """
    if "SLURM_STEP_ID" not in environ or "SLURM_PROCID" not in environ:
        return None
    once = f"`srun --nodes {nodes} --ntasks-per-node 1 prime train`"
    try:
        task = SlurmTask(
            int(environ["SLURM_PROCID"]),
            int(environ["SLURM_NTASKS"]),
            f"{environ['SLURM_JOB_ID']}.{environ['SLURM_STEP_ID']}",
            environ.get("SLURMD_NODENAME") or socket.gethostname(),
        )
    except (KeyError, ValueError) as error:
        raise UsageError(f"Slurm's variables are incomplete: {error}", hint=once) from error
    if task.count != nodes:
        raise UsageError(
            f"Slurm started prime {task.count} times, and `--nodes {nodes}` needs {nodes}, one on "
            "each machine",
            hint=once,
        )
    return task


def address_of(asked: str | None, task: SlurmTask | None, nodes: int) -> str:
    """The IPv4 address by which the other machines reach this one; raises UsageError.

    That `asked` for, which may be a name, else that of the host by which Slurm knows it.
    """
    if asked is None and task is None:
        in_slurm = "SLURM_JOB_ID" in os.environ
        by_slurm = f"`srun --nodes {nodes} --ntasks-per-node 1 prime train`, or "
        raise UsageError(
            f"`--nodes {nodes}` needs the address by which the other machines reach this one",
            hint=f"{by_slurm if in_slurm else ''}`--address ADDRESS`, of a private network",
        )
    name = asked or (task.host if task else "")
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
