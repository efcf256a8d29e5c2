"""One training from plan to verdict: engine, rollouts, steps, evaluations.

A session is one process of prime that works on a training until it ends or is stopped.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from prime_cli.core.errors import PrimeError
from prime_cli.core.paths import FULL_DISK_HINT, make_folder
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.earlier_sessions import EarlierSessions, read_earlier_sessions
from prime_cli.evals.execution.early_stop import SignalRouter
from prime_cli.evals.execution.run import choose_interpreter
from prime_cli.evals.execution.run_record import RunRecord
from prime_cli.evals.execution.session_setup import RunSetup, set_up_run
from prime_cli.evals.execution.setup import RunContext, WorkerAccess, grant_access
from prime_cli.evals.planning.cost import budget_of, count_earlier
from prime_cli.models.prices import Budget
from prime_cli.runs.folder import (
    Journal,
    RunFolder,
    new_run_folder,
    read_journal,
    run_group_name,
    writing,
)
from prime_cli.runs.manifest import FINISHED, INTERRUPTED
from prime_cli.runs.spending import sum_of
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.training.dump import warn_of_differences
from prime_cli.training.engine_training import EngineTraining
from prime_cli.training.engines.launch import EngineFiles, NodePlace, installed_versions
from prime_cli.training.environment_session import EnvironmentRollouts
from prime_cli.training.evaluation import EVALUATIONS, HeldOutExamples
from prime_cli.training.fine_tuning import ROWS, copy_data
from prime_cli.training.mixture import Place
from prime_cli.training.nodes import Nodes, facts_of_node
from prime_cli.training.prepare import PreparedTraining
from prime_cli.training.record import (
    OUTPUTS,
    STOP,
    TRAIN,
    SavedTraining,
    TrainingFacts,
    TrainingRecord,
    facts_in,
    folders_of,
    last_checkpoint,
    remember_place,
    sandbox_owners,
)
from prime_cli.training.session import (
    RolloutSession,
    ServiceOptions,
    continue_words,
    partial_at_cap,
    run_loop,
)
from prime_cli.training.trainer_events import forget_steps_after


@dataclass(frozen=True)
class TrainingResult:
    """A training that has ended; `signal` is the number of the signal that ended it early.

    It `is_finished` unless something is left for `--resume`; `drained` says who ended it so.
    """

    folder: RunFolder
    facts: TrainingFacts
    is_finished: bool
    signal: int | None = None
    drained: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all steps were done."""
        return self.facts.step >= self.facts.steps


def train(
    prepared: PreparedTraining,
    python: Path,
    context: RunContext,
    resumed: SavedTraining | None = None,
    on_start: Callable[[RunFolder], None] = lambda _: None,
) -> TrainingResult:
    """Train in a new folder, or go on where a training was stopped; `on_start` gets the folder.

    Raises what keeps it from being done; checkpoints are kept.
    """
    router = SignalRouter()
    with router.listening():
        context = replace(context, switchboard=router)
        chosen = []
        for each in prepared.rollouts:
            access = grant_access(each, context)
            interpreter = choose_interpreter(
                each.plan, each.subject, context, access.sandbox, variables=access.variables
            )
            chosen.append((interpreter, access))
        plan = prepared.rollouts[0].plan
        if resumed is None:
            group = run_group_name("+".join(prepared.names), plan.model)
            outputs = plan.option("output_dir") or OUTPUTS
            folder = new_run_folder(context.cwd / outputs / TRAIN / group)
            remember_place(folder.path)
        else:
            folder = RunFolder(resumed.folder)
        on_start(folder)
        goes_on, budget = resumed is not None, budget_of(plan)
        setups = set_up_training(prepared, chosen, context, folder, budget, goes_on=goes_on)
        return train_with(setups, prepared, python, goes_on=goes_on)


def set_up_training(
    prepared: PreparedTraining,
    chosen: Sequence[tuple[Interpreter, WorkerAccess]],
    context: RunContext,
    folder: RunFolder,
    budget: Budget | None,
    *,
    goes_on: bool,
) -> list[RunSetup]:
    """A setup for each environment, all of which share the `budget`."""
    folders = folders_of(folder, prepared.names)
    for own in folders:
        make_folder(own.path)
    owners = sandbox_owners(folder, prepared.names)
    return [
        set_up_run(
            *(each, interpreter, access, context, own, budget),
            resumes=goes_on,
            sandboxes_of=owner,
        )
        for each, (interpreter, access), own, owner in zip(
            prepared.rollouts, chosen, folders, owners, strict=True
        )
    ]


def train_with(
    setups: Sequence[RunSetup],
    prepared: PreparedTraining,
    python: Path,
    *,
    goes_on: bool = False,
) -> TrainingResult:
    """The same in a folder for each environment, with an interpreter that has it."""
    with ExitStack() as stack:
        for setup in setups:
            stack.enter_context(writing(setup.folder))
        earlier = [
            read_earlier_sessions(setup.folder) if goes_on else EarlierSessions()
            for setup in setups
        ]
        return _train(setups, earlier, prepared, python)


def _train(
    setups: Sequence[RunSetup],
    earliest: Sequence[EarlierSessions],
    prepared: PreparedTraining,
    python: Path,
) -> TrainingResult:
    setup, earlier = setups[0], earliest[0]
    folder, plan, names = setup.folder, prepared.plan, prepared.names
    step, checkpoint = last_checkpoint(folder) or (0, None)
    facts = _facts_at_start(prepared, python, setup, earlier, step, checkpoint)
    _require_room(setups, earliest)
    if plan.data is not None and not (folder.path / ROWS).is_file():
        copy_data(plan.data, folder.path, setup.context.progress)
    record = TrainingRecord(setup, earlier, facts)
    records = [record, *map(RunRecord, setups[1:], earliest[1:])]
    for each in reversed(records):  # where there is one of the training, there are all
        each.open()
    forget_steps_after(step, folder.path)
    (folder.path / STOP).unlink(missing_ok=True)
    nodes = _nodes(prepared, python, setup)
    place = None if nodes is None else NodePlace(0, nodes.first.address, str(nodes.meeting))
    files = EngineFiles(prepared.engine, python, folder.path, place)
    held = HeldOutExamples(setups, names, plan)
    training = EngineTraining(setup, record, files, held, checkpoint, nodes)
    options = ServiceOptions(has_policy=False, training=training, ratios=plan.ratios)
    if nodes is not None:
        options = replace(options, address=nodes.first.address)
    with ExitStack() as stack:
        parts = [
            EnvironmentRollouts(
                name,
                own,
                stack.enter_context(Journal(own.folder.journal, own.scrub)),
                records[index],
                earliest[index].tally,
                Place(index, len(setups)),
                _next_numbers(own.folder, step) if checkpoint else {},
                earliest[index].manifest if checkpoint else None,
            )
            for index, (name, own) in enumerate(zip(names, setups, strict=True))
        ]
        session = RolloutSession(parts, options)
        signal = _run_session(session, training, setup, prepared)
    drained = session.parts[0].outcome.drained
    return TrainingResult(folder, record.facts, training.is_whole, signal, drained)


def _facts_at_start(
    prepared: PreparedTraining,
    python: Path,
    setup: RunSetup,
    earlier: EarlierSessions,
    step: int,
    checkpoint: Path | None,
) -> TrainingFacts:
    """What is known before the first step; says where a resumed training begins."""
    names = prepared.names
    packages = installed_versions(prepared.engine, python)
    several = tuple(names) if len(names) > 1 else ()
    facts = TrainingFacts(plan=prepared.plan, packages=packages, environments=several)
    before = None if earlier.manifest is None else facts_in(earlier.manifest)
    if before is None:
        return facts
    _warn_of_changes(before.packages, packages, setup.context.progress)
    setup.context.progress.say(_resumed_at(step, checkpoint))
    return _known_at(step, before, facts)


def _run_session(
    session: RolloutSession, training: EngineTraining, setup: RunSetup, prepared: PreparedTraining
) -> int | None:
    """Train, and close the session however that ends; the signal if one ended it early."""
    title, steps = _title(setup, prepared.names), prepared.plan.steps
    try:
        with setup.context.progress.task(title, total=steps) as task:
            training.show_on(task)
            signal = run_loop(session.run(lambda *_: None))
    except BaseException as failure:
        if isinstance(failure, PrimeError):
            _name_next_step(setup.folder, failure)
        session.close_after(failure)
        raise
    session.close(FINISHED if training.is_whole else INTERRUPTED)
    for part in session.parts:
        warn_of_differences(part.recorder, part.counts, setup.context.progress)
    return signal


def _known_at(step: int, before: TrainingFacts, now: TrainingFacts) -> TrainingFacts:
    """What is still known at the checkpoint of `step`; what came after it will be found again."""
    return msgspec.structs.replace(
        before,
        plan=now.plan,
        packages=now.packages,
        step=step,
        finished_at=before.finished_at if before.finished_at == step else None,
        evaluations=tuple(each for each in before.evaluations if step and each.step <= step),
    )


def _nodes(prepared: PreparedTraining, python: Path, setup: RunSetup) -> Nodes | None:
    """The other machines that train too; None where there are none."""
    count = prepared.plan.nodes
    if prepared.first is None or count == 1:
        return None
    facts = facts_of_node(prepared.engine, python, count)
    return Nodes(prepared.first, count, facts, setup.folder.path, setup.context.progress)


def _require_room(setups: Sequence[RunSetup], earliest: Sequence[EarlierSessions]) -> None:
    """Count what rollouts and evaluations of earlier sessions cost, in all environments.

    Raises PartialResult if that exhausts the budget, which they share.
    """
    setup = setups[0]
    budget = setup.gateway.budget
    if budget is None:
        return
    evaluations = (
        RunFolder(manifest.parent)
        for each in setups
        for manifest in each.folder.path.glob(EVALUATIONS)
    )
    sessions = [*earliest, *map(read_earlier_sessions, evaluations)]
    spent = [spend for each in sessions for spend in each.spent.values()]
    count_earlier(budget, sum_of(spent), setup.context.progress)
    if budget.reason is not None:
        raise partial_at_cap(budget.reason, continue_words(setup))


def _warn_of_changes(before: Mapping[str, str], now: Mapping[str, str], progress: Progress) -> None:
    """Name the engine's packages of which an earlier session had another version."""
    changed = [
        f"{name} {before[name]} -> {version}"
        for name, version in now.items()
        if before.get(name, version) != version
    ]
    if changed:
        progress.warn(
            f"The engine has changed since this training began: {', '.join(changed)}",
            hint="its metrics may not be those of a training that was never stopped",
        )


def _resumed_at(step: int, checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "There is no checkpoint yet: the training begins again with its first step"
    return f"Resuming after step {step}, from {checkpoint}"


def _name_next_step(folder: RunFolder, failure: PrimeError) -> None:
    """Say how the training goes on, where the hint would begin another one, and from where."""
    if failure.hint == FULL_DISK_HINT:
        failure.hint = f"free some space, then `prime train --resume {folder.run_id}`"
    found = last_checkpoint(folder)
    if found is not None:
        named = f"the last checkpoint is {found[1]}"
        failure.hint = named if failure.hint is None else f"{failure.hint}; {named}"


def _title(setup: RunSetup, names: Sequence[str]) -> str:
    return f"{', '.join(names)} with {setup.plan.model}"


def _next_numbers(folder: RunFolder, step: int) -> Mapping[int, int]:
    """The numbers of the next rollouts after `step` steps: those of later ones are used again."""
    numbers: Counter[int] = Counter()
    for row in read_journal(folder.journal):
        if row.state.get("step", 0) <= step:
            numbers[row.example_id] = max(numbers[row.example_id], row.rollout + 1)
    return numbers
