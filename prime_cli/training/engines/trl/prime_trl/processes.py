"""Several processes that train one model, one for each GPU: torchrun's, but for how they meet.

torchrun's store listens on every interface, and believes whoever connects. Here the processes meet
by a file, and talk over loopback alone; those of several machines by a file in the folder that the
machines share, and over the network that has the address which prime names.
"""

import ipaddress
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil
import torch
from accelerate import PartialState
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, PContext, start_processes
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

from .config import Config
from .failures import killed_process
from .service import Service

_RANK, _MEETING = "RANK", "PRIME_TRL_MEETING"
_LONGEST = timedelta(days=30)
"""A collective waits for the slowest rollout or evaluation; prime ends what hangs."""


def is_launcher(config: Config) -> bool:
    """Whether this process starts others, rather than being one of them."""
    return config.world > 1 and _MEETING not in os.environ


def launch(program: str, path: str, config: Config) -> int:
    """Run this node's processes of the engine to their end; the exit code of the training.

    Where one fails, the others are ended.
    """
    count, first = config.processes, config.processes * int(os.environ.get("PRIME_NODE", "0"))
    address = os.environ.get("PRIME_ADDRESS", "127.0.0.1")
    interface = _interface_with(address)
    with tempfile.TemporaryDirectory(prefix="prime-") as folder:
        shared = {
            "WORLD_SIZE": str(config.world),
            "LOCAL_WORLD_SIZE": str(count),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "MASTER_ADDR": address,  # accelerate wants one of several nodes, and asks nobody there
            "GLOO_SOCKET_IFNAME": interface,
            "NCCL_SOCKET_IFNAME": interface,
            _MEETING: os.environ.get("PRIME_MEETING", str(Path(folder, "meeting"))),
        }
        places = range(count)
        started = start_processes(
            "training",
            sys.executable,
            dict.fromkeys(places, (program, path)),
            {
                place: {**shared, _RANK: str(first + place), "LOCAL_RANK": str(place)}
                for place in places
            },
            DefaultLogsSpecs(log_dir=folder),
        )
        _forward_requests_for_stacks(started)
        ended = started.wait(period=0.2)
    if ended is None or not ended.is_failed():
        return 0
    _tell(ended.failures, first, config.world)
    return 1


def _interface_with(address: str) -> str:
    """The name of the network interface that has an address."""
    if ipaddress.ip_address(address).is_loopback:
        return "lo0" if sys.platform == "darwin" else "lo"
    found = psutil.net_if_addrs().items()
    return next(str(name) for name, own in found if any(each.address == address for each in own))


def _forward_requests_for_stacks(started: PContext) -> None:
    if sys.platform == "win32":
        return

    def forward(number: int, _: object) -> None:
        for process in started.pids().values():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    signal.signal(signal.SIGUSR1, forward)


def _tell(failures: Mapping[int, ProcessFailure], first: int, count: int) -> None:
    """Report a process that was killed; one that raised an error has told it itself."""
    # By SIGTERM the others are ended.
    killed = [each for each in failures.values() if each.exitcode not in (1, -signal.SIGTERM)]
    for failure in killed[:1]:
        reason = killed_process(first + failure.local_rank + 1, count, failure.exitcode)
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
