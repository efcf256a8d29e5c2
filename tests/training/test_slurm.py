"""Which of several machines prime finds itself on, and how the others reach it."""

from pathlib import Path

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.training.nodes import SlurmTask, address_of, find_task

SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "1",
    "SLURM_NTASKS": "2",
    "SLURMD_NODENAME": "node-b",
}


def test_a_task_of_slurm_knows_its_place() -> None:
    found = find_task(SLURM, 2)
    assert found == SlurmTask(1, 2, "7.0", "node-b")
    assert found.mark(Path("train")) == Path("train/.nodes-7.0.json")


@pytest.mark.parametrize("environ", [{}, {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}])
def test_a_shell_and_a_batch_script_are_no_tasks(environ: dict[str, str]) -> None:
    assert find_task(environ, 2) is None


def test_incomplete_variables_are_refused() -> None:
    with pytest.raises(UsageError, match="incomplete: 'SLURM_NTASKS'"):
        find_task({name: text for name, text in SLURM.items() if name != "SLURM_NTASKS"}, 2)


def test_another_number_of_tasks_than_nodes_is_refused() -> None:
    with pytest.raises(UsageError, match="started prime 2 times, and `--nodes 4` needs 4"):
        find_task(SLURM, 4)


def test_an_address_is_needed_and_must_be_of_this_machine() -> None:
    assert address_of("127.0.0.1", None, 2) == "127.0.0.1"
    with pytest.raises(UsageError, match="`--nodes 2` needs the address"):
        address_of(None, None, 2)
    with pytest.raises(UsageError, match=r"`192\.0\.2\.1` is no IPv4 address of this machine"):
        address_of("192.0.2.1", None, 2)
    with pytest.raises(UsageError, match=r"leads to 127\.0\.0\.1, which no other"):
        address_of(None, SlurmTask(0, 2, "7.0", "localhost"), 2)
