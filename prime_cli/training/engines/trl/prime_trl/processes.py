"""Several processes that train one model, one for each GPU: torchrun's, but for how they meet.

torchrun's store listens on every interface, and believes whoever connects. Here the processes meet
by a file, and talk over loopback alone.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import torch
from accelerate import PartialState
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, PContext, start_processes
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

from .failures import killed_process
from .service import Service

_RANK, _MEETING = "RANK", "PRIME_TRL_MEETING"
_LONGEST = timedelta(days=30)
"""A collective waits for the slowest rollout or evaluation; prime ends what hangs."""


def is_launcher(count: int) -> bool:
    """Whether this process starts `count` others, rather than being one of them."""
    return count > 1 and _RANK not in os.environ


def launch(program: str, config: str, count: int) -> int:
    """Run `count` processes of the engine to their end; the exit code of the training.

    Where one fails, the others are ended.
    """
    with tempfile.TemporaryDirectory(prefix="prime-") as folder:
        shared = {
            "WORLD_SIZE": str(count),
            "LOCAL_WORLD_SIZE": str(count),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
            "NCCL_SOCKET_IFNAME": "lo",
            _MEETING: str(Path(folder, "meeting")),
        }
        ranks = range(count)
        started = start_processes(
            "training",
            sys.executable,
            dict.fromkeys(ranks, (program, config)),
            {rank: {**shared, _RANK: str(rank), "LOCAL_RANK": str(rank)} for rank in ranks},
            DefaultLogsSpecs(log_dir=folder),
        )
        _forward_requests_for_stacks(started)
        ended = started.wait(period=0.2)
    if ended is None or not ended.is_failed():
        return 0
    _tell(ended.failures, count)
    return 1


def _forward_requests_for_stacks(started: PContext) -> None:
    if sys.platform == "win32":
        return

    def forward(number: int, _: object) -> None:
        for process in started.pids().values():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    signal.signal(signal.SIGUSR1, forward)


def _tell(failures: Mapping[int, ProcessFailure], count: int) -> None:
    """Report a process that was killed; one that raised an error has told it itself."""
    # By SIGTERM the others are ended.
    killed = [each for each in failures.values() if each.exitcode not in (1, -signal.SIGTERM)]
    for failure in killed[:1]:
        reason = killed_process(failure.local_rank + 1, count, failure.exitcode)
        Service().fail(reason.code, reason.message, reason.hint)


def join(*, has_gpu: bool, vllm: bool = False) -> PartialState:
    """The processes of the training, of which this is one; the only one if it was not launched."""
    meeting = os.environ.get(_MEETING)
    backend = "nccl" if has_gpu else "gloo"
    if meeting is not None:
        if has_gpu:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group(
            backend,
            init_method=Path(meeting).as_uri(),
            rank=int(os.environ[_RANK]),
            world_size=int(os.environ["WORLD_SIZE"]),
            timeout=_LONGEST,
        )
    state = PartialState(cpu=not has_gpu)
    if meeting is None and vllm:
        # vLLM makes a group of one otherwise, with a store that listens on every interface.
        alone = torch.distributed.HashStore()
        torch.distributed.init_process_group(backend, store=alone, rank=0, world_size=1)
    return state
