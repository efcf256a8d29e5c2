"""`prime train` on several machines: this one is the first of them, or joins the first."""

import os
from collections.abc import Callable
from pathlib import Path

from prime_cli.commands.eval.summary import exit_if_signalled
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.models.serving.engines import find_gpus
from prime_cli.session import Session
from prime_cli.training.engines.catalogue import TrainingEngine, find_engine
from prime_cli.training.engines.launch import EngineFiles
from prime_cli.training.nodes import FirstNode, address_of, facts_of_node, find_task, read_waiting
from prime_cli.training.other_node import OtherNode, folder_by, reaching_address
from prime_cli.training.prepare import engine_packages
from prime_cli.training.record import find_training
from prime_cli.training.request import TrainRequest

PythonOf = Callable[[Session, TrainingEngine, bool, Path | None], Path]
"""Makes or checks the interpreter of an engine, for GPUs or a CPU; it may be the user's own."""


def first_node(training: TrainRequest, nodes: int, output_dir: str | None) -> FirstNode | None:
    """How the others find this node, which leads; None if it has no others.

    Raises UsageError where Slurm's tasks or the address do not fit.
    """
    if nodes == 1:
        if training.address is not None:
            raise UsageError("`--address` is for several machines", hint="add `--nodes N`")
        return None
    task = find_task(os.environ, nodes)
    address = address_of(training.address, task, nodes)
    mark = None if task is None else task.mark(_trainings(output_dir))
    return FirstNode(address, mark)


def folder_to_join(training: TrainRequest, nodes: int, output_dir: str | None) -> Path | None:
    """The folder of a training that another node leads; None if this node leads, or is alone."""
    task = find_task(os.environ, nodes) if nodes > 1 else None
    if task is None or task.rank == 0:
        return None
    return folder_by(task.mark(_trainings(output_dir)), training.stall)


def _trainings(output_dir: str | None) -> Path:
    return Path.cwd() / (output_dir or "outputs") / "train"


def train_with_first(
    session: Session, folder: Path, training: TrainRequest, python_of: PythonOf
) -> None:
    """Train as another node says, until it ends; raises as `OtherNode.train`, and UsageError."""
    waiting = read_waiting(Path.cwd() / folder)
    saved = find_training(str(folder), Path.cwd())
    plan, gpus = saved.facts.plan, find_gpus()
    if Path(plan.model).is_absolute() and not Path(plan.model).is_dir():
        raise NotFound(
            f"This machine lacks the folder of the model: {plan.model}",
            hint="copy it to the same path, or mount it there, and join again",
        )
    if plan.gpus and len(gpus) < plan.processes:
        raise UsageError(
            f"Each node trains by {plan.processes} GPUs, and this machine has {len(gpus)}",
            hint=f"`--processes {len(gpus) or 1}` on the first node",
        )
    reached = reaching_address(waiting)
    address = address_of(training.address or reached, None, plan.nodes)
    engine = engine_packages(find_engine(plan.engine), plan)
    python = python_of(session, engine, bool(plan.gpus), training.engine_python)
    files = EngineFiles(engine, python, saved.folder)
    node = OtherNode(files, waiting, address, facts_of_node(engine, python, plan.nodes))
    signal = node.train(session.run_context().environ, session.progress)
    session.output.say(f"{saved.manifest.run_id} has ended; its results are on the first node")
    exit_if_signalled(session, signal, f"prime train --resume {saved.manifest.run_id}")
