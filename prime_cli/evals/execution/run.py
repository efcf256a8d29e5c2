"""One evaluation from plan to summary: interpreter, set-up, session, results.

A session is one process that works on a run until it ends or is stopped.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from prime_cli.core.builtin_models import SMOLLM2
from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import PrimeError, StorageFailed
from prime_cli.core.installation import install_command
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Progress, Silent
from prime_cli.core.refs import normalize_name
from prime_cli.envs.install.installed import InstalledPackage, altered_files
from prime_cli.envs.install.workspace import (
    Workspace,
    find_workspace,
)
from prime_cli.evals.execution.earlier_sessions import saved_lock
from prime_cli.evals.execution.rollout_loop import RolloutLoop
from prime_cli.evals.execution.session import EvalSession
from prime_cli.evals.execution.session_setup import RunSetup, close_cache, set_up_run
from prime_cli.evals.execution.setup import RunContext, grant_access
from prime_cli.evals.planning.locate import ResolvedEnvironment
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.resume.candidates import is_complete, resumable_manifest
from prime_cli.evals.resume.compatibility import require_same
from prime_cli.runs.folder import RunFolder, writing
from prime_cli.runs.manifest import InterpreterFacts
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.summary import Summary
from prime_cli.runtime.interpreters import Interpreter, prepare_interpreter
from prime_cli.runtime.isolation.sandbox import NamespaceSandbox
from prime_cli.runtime.packages import known_lock
from prime_cli.runtime.variables import Variables
from prime_cli.runtime.verifiers_releases import LIBRARY
from prime_cli.runtime.verifiers_usage import read_requirements
from prime_cli.wire.locks import Lock

OnStart = Callable[[RunFolder], None]
"""Called with the folder of a run that starts or resumes, which is locked by then."""


@dataclass(frozen=True)
class EvalResult:
    """A run that has ended; `signal` is the number of the signal that ended it early."""

    folder: RunFolder
    summary: Summary
    plan: EvalPlan
    signal: int | None = None


def run_evaluation(
    prepared: PreparedRun,
    context: RunContext,
    resumed: SavedRun | None = None,
    *,
    on_start: OnStart | None = None,
) -> EvalResult:
    """Run what is prepared; each finished rollout is on disk before the next one is counted.

    A `resumed` run continues with rollouts without a score, and ends as if it had never been
    interrupted. Raises Conflict if its scores could change or another process works on it,
    LoadFailed or EnvironmentFailed if the environment cannot be run, ResolveFailed if no
    interpreter fits, StorageFailed. Finished rollouts are kept, and their results written.
    """
    plan = prepared.plan
    before = resumable_manifest(resumed) if resumed is not None else None
    if before is not None:
        require_same(before, plan)
        if resumed is not None and is_complete(resumed, plan, retry_errors=prepared.retry_errors):
            summary = resumed.summary()
            context.progress.say(f"Nothing left to run: {_what_is_there(summary)}")
            return EvalResult(resumed.folder, summary, plan)
    if plan.ray is not None:
        from prime_cli.evals.execution.ray.checks import require_for_cluster

        require_for_cluster(prepared, context)
    access = grant_access(prepared, context)
    facts = before.interpreter if before is not None else None
    pinned = None
    if before is not None and resumed is not None and before.rerun_of:
        pinned = saved_lock(resumed.folder, facts)
    with context.turn:
        interpreter = choose_interpreter(
            plan,
            prepared.subject,
            context,
            access.sandbox,
            before=facts,
            pinned=pinned,
            variables=access.variables,
        )
    folder = resumed.folder if resumed is not None else None
    with _served(prepared, context) as served:
        setup = set_up_run(served, interpreter, access, context, folder, resumes=folder is not None)
        return work_through(setup, on_start)


@contextmanager
def _served(prepared: PreparedRun, context: RunContext) -> Iterator[PreparedRun]:
    """The same with the address of a server that runs until then, if its model needs one."""
    if prepared.plan.model != SMOLLM2 or context.services.serve_model is None:
        yield prepared
        return
    with context.services.serve_model(prepared.plan.sampling.get("temperature")) as endpoint:
        yield replace(prepared, endpoint=endpoint)


def _what_is_there(summary: Summary) -> str:
    if not summary.counts.errored:
        return f"all of {summary.run_id} has scores"
    count = summary.counts.errored
    noun = (
        "rollout ended in an error, which stays"
        if count == 1
        else "rollouts ended in an error, which stay"
    )
    return f"{count} {noun} as answered; `--retry-errors` asks again"


def work_through(setup: RunSetup, on_start: OnStart | None = None) -> EvalResult:
    """Do in one session what the run has left, with an interpreter that has the environment."""
    folder, origin, progress = setup.folder, setup.prepared.origin, setup.context.progress
    with writing(folder):
        session = EvalSession(setup)
        if on_start is not None:
            on_start(folder)
        if not setup.resumes and origin is not None and origin.seed_folder is not None:
            origin.seed_folder(folder, session.tally, setup.scrub)
        with session.open():
            title = f"{setup.plan.environment.name} with {setup.plan.model}"
            try:
                with progress.task(title, unit="rollouts") as task:
                    asyncio.run(RolloutLoop(session, task).drive())
            except BaseException as failure:
                with suppress(StorageFailed):  # report the first failure
                    session.fail(failure)
                session.say_what_is_kept(failure)
                raise
        summary = session.close()
    close_cache(setup)
    return EvalResult(folder, summary, session.record.plan, session.outcome.signal)


# --- Which interpreter a run uses: the workspace's if it has the same wheel, else an isolated one

WORKSPACE = "workspace"
"""`found_by` of an interpreter that the user created."""


def choose_interpreter(
    plan: EvalPlan,
    subject: ResolvedEnvironment,
    context: RunContext,
    sandbox: NamespaceSandbox | None = None,
    *,
    before: InterpreterFacts | None = None,
    pinned: Lock | None = None,
    variables: Variables | None = None,
) -> Interpreter:
    """An interpreter in which the environment can be imported; raises as prepare_interpreter.

    A run that used an isolated one (`before`) stays there; `pinned` are its packages. `variables`
    are passed to the import that tests it.
    """
    found = None
    # The nodes of a cluster make it again from its lock, which a workspace has not.
    if plan.ray is None and pinned is None and (before is None or before.found_by == WORKSPACE):
        found = workspace_interpreter(
            plan, subject, cwd=context.cwd, environ=context.environ, progress=context.progress
        )
    if found is not None:
        context.progress.say(f"Running in {found.python.parent.parent}, which has the same wheel")
        return found
    return prepare_interpreter(
        subject.package,
        lock=pinned or subject.lock,
        is_pinned=pinned is not None,
        verifiers=plan.verifiers,
        python=plan.python,
        requirements=plan.option("with_packages", ()),
        extra_wheels=subject.beside,
        offline=context.options.offline,
        progress=context.progress,
        sandbox=sandbox,
        variables=variables,
    )


def workspace_interpreter(
    plan: EvalPlan,
    subject: ResolvedEnvironment,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Interpreter | None:
    """The workspace's Python, if prime installed this wheel there with a matching verifiers.

    If its files were edited since, it is not used, with a warning.

    It is not used if the plan sets verifiers, Python, more packages or a sandbox. The match is read
    from the wheel's source: importing it would cost seconds, and the worker does so anyway.
    """
    facts = subject.package.facts
    more = plan.option("with_packages", ()) or subject.package.extras
    isolated = plan.sandbox or bool(more)
    asked = plan.verifiers is not None or plan.python is not None or isolated
    if asked or facts.module is None or facts.exposes is None:
        return None
    try:
        workspace = find_workspace(here=cwd, environ=environ)
    except PrimeError:  # a VIRTUAL_ENV that is no longer there: the isolated one needs none
        return None
    installed = workspace.installed
    own = installed.get(normalize_name(facts.name))
    if own is None or own.origin is None or own.origin.sha256 != subject.package.sha256:
        return None
    library = _fitting_library(installed, subject, workspace, progress or Silent())
    if library is None:
        return None
    edited = next((f"{file} was edited" for file in altered_files(own)), None)
    problem = own.origin.fails or edited
    if problem is not None:
        (progress or Silent()).say(f"{workspace.folder} is not used: {problem}")
        return None
    return Interpreter(
        python=workspace.python,
        digest=_digest_of(installed),
        verifiers=library.version,
        generation=facts.exposes,
        found_by=WORKSPACE,
        module=facts.module,
        python_version=workspace.python_version,
    )


def _fitting_library(
    installed: Mapping[str, InstalledPackage],
    subject: ResolvedEnvironment,
    workspace: Workspace,
    progress: Progress,
) -> InstalledPackage | None:
    """The workspace's verifiers if the wheel runs with it; warns if it is not installed.

    Prime itself does not require verifiers: the hint is its extra if both share a venv.
    """
    facts = subject.package.facts
    library, name = installed.get(LIBRARY), normalize_name(facts.name)
    if library is not None:
        found = known_lock(prime_home(), subject.package.sha256, subject.lock)
        if found is not None and found.verifiers != library.version:
            progress.say(
                f"{workspace.folder or workspace.python} is not used: it has {LIBRARY} "
                f"{library.version}, and {name} was found to run with {found.verifiers}"
            )
            return None
        span = read_requirements(subject.package.path, facts).span
        return library if span.allows(library.version) else None
    is_ours = workspace.folder is not None and workspace.folder.resolve() == Path(sys.prefix)
    command = install_command(LIBRARY) if is_ours else f"prime env install {name}"
    progress.warn(
        f"{workspace.folder or workspace.python} has {name} but not {LIBRARY}, so this run "
        "uses an isolated interpreter",
        hint=f"install it there with `{command}`",
    )
    return None


def _digest_of(installed: Mapping[str, InstalledPackage]) -> str:
    """Digest of all installed packages, in place of a lock, as the user may change the folder."""
    lines = sorted(f"{name}=={each.version}" for name, each in installed.items())
    return digest_bytes("\n".join(lines).encode())
