"""One check of an environment from its name to the report."""

import asyncio
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prime_cli import __version__
from prime_cli.core.builtin_models import PROBES
from prime_cli.core.errors import EnvironmentFailed, UsageError
from prime_cli.core.paths import home_path, make_folder, prime_home
from prime_cli.envs.project.folder import split_extras_here
from prime_cli.evals.env_check.attack.overlap import NO_BENCHMARK, Benchmark
from prime_cli.evals.env_check.attack.verdict import OF_ATTACKS, attack_wheel
from prime_cli.evals.env_check.dataset import SURVEYED
from prime_cli.evals.env_check.findings import failed, skipped
from prime_cli.evals.env_check.inspection import (
    ORDER,
    inspect_dependencies,
    inspect_package,
    inspect_runs,
    loaded,
    without_sandbox,
)
from prime_cli.evals.env_check.network import Declaration, read_declaration
from prime_cli.evals.env_check.probe_run import ProbeRun, ProbeSetup, run_probes
from prime_cli.evals.env_check.scoring import of_interest
from prime_cli.evals.env_check.tasks import OF_TASKS, check_tasks
from prime_cli.evals.execution.session_setup import relay_for
from prime_cli.evals.execution.setup import (
    RunContext,
    announce_sandboxes,
    known_keys,
    passed_keys,
    sandbox_for,
)
from prime_cli.evals.planning.locate import (
    EnvironmentLocation,
    LookupContext,
    ResolvedEnvironment,
    locate,
    obtain_environment,
)
from prime_cli.evals.planning.parsers import with_always_allowed
from prime_cli.evals.planning.source_scan import declared_keys, sandbox_use
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.oracle import CHECKED
from prime_cli.models.registry import Registry, load_registry
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.scrubber import Scrubber, secrets_of
from prime_cli.runtime.interpreters import Interpreter, make_anew, prepare_interpreter
from prime_cli.runtime.layers import below_of
from prime_cli.runtime.variables import Variables, share
from prime_cli.wire.check_reports import AttackReport, Check, CheckReport, verdict_of
from prime_cli.wire.codec import decode, encode

EXAMPLES = 5
ROLLOUT_SECONDS = 60.0
CONCURRENCY = 8
ATTACK_CALLS = 300
ATTACKED = 20
"""The least number of examples under attack: of fewer, chance cannot be told from a leak."""


@dataclass(frozen=True)
class CheckOptions:
    """How to check: the number of `examples` to run, and the longest rollout in seconds.

    With `every_task` also verifiers' own check of each task. With `judges` rewards may call other
    models, at the user's cost. With `attack` the panel runs too, searches in `attack_calls`, and
    compares the data with the `benchmark`.
    """

    examples: int = EXAMPLES
    rollout_seconds: float = ROLLOUT_SECONDS
    every_task: bool = False
    concurrency: int = CONCURRENCY
    env_args: Mapping[str, Any] = field(default_factory=dict)
    extra_args: Mapping[str, Any] = field(default_factory=dict)
    env_vars: tuple[str, ...] = ()
    verifiers: str | None = None
    python: str | None = None
    judges: bool = False
    endpoints: Path | None = None
    sandbox_provider: str | None = None
    attack: bool = False
    attack_calls: int = ATTACK_CALLS
    benchmark: Benchmark = NO_BENCHMARK
    sandbox: bool = False

    def __post_init__(self) -> None:
        if self.examples < 1:
            raise UsageError(f"`-n {self.examples}` is not a number of examples")
        if self.concurrency < 1:
            raise UsageError(f"`-c {self.concurrency}` is not a number of rollouts")
        if self.attack_calls < 0:
            raise UsageError(f"`--attack-calls {self.attack_calls}` is not a number of calls")
        if self.benchmark.prints and not self.attack:
            raise UsageError("`--benchmark` is compared by `--attack`", hint="add `--attack`")
        if self.rollout_seconds <= 0:
            raise UsageError(f"`--timeout {self.rollout_seconds}` is not a number of seconds")


@dataclass(frozen=True)
class CheckOutcome:
    """The report, and the failure that prevented running the environment, if any."""

    report: CheckReport
    failure: EnvironmentFailed | None = None


def check_environment(
    text: str, options: CheckOptions, lookup: LookupContext, context: RunContext, *, hub_only: bool
) -> CheckOutcome:
    """Check what `text` names: a folder, a wheel, or an environment of the hub.

    An environment that does not build or load is reported, not raised. Raises NotFound,
    BadProject, Unreachable (packages cannot be fetched), IntegrityError.
    """
    located = locate(text, lookup, context.progress, hub_only=hub_only)
    try:
        subject, options = _obtain_subject(located, text, options, lookup, context)
    except EnvironmentFailed as error:
        build = failed("build", error.message, error.hint or "see the build backend's output")
        report = _report(str(located), [build], wheel_sha256=None)
        return CheckOutcome(report, error)
    return check_subject(subject, options, context)


def _obtain_subject(
    located: EnvironmentLocation,
    text: str,
    options: CheckOptions,
    lookup: LookupContext,
    context: RunContext,
) -> tuple[ResolvedEnvironment, CheckOptions]:
    """What was located as `text`, and `options` with the variables that it may always read."""
    _, extras = split_extras_here(text, lookup.cwd)
    subject = obtain_environment(located, lookup, context.progress, extras=extras)
    allowed = lookup.env_vars.get(subject.environment.slug, ())
    names = with_always_allowed(options.env_vars, allowed, context.variables)
    return subject, replace(options, env_vars=names)


def check_subject(
    subject: ResolvedEnvironment, options: CheckOptions, context: RunContext
) -> CheckOutcome:
    """The same for a local wheel."""
    return _Checking(subject, options, context).run()


class _Checking:
    def __init__(
        self, subject: ResolvedEnvironment, options: CheckOptions, context: RunContext
    ) -> None:
        self._subject = subject
        self._options = options
        self._context = context
        self._declaration: Declaration = read_declaration(subject.pyproject)
        self._declared = declared_keys(subject.package.path)
        self._plan = plan_probes(subject, options)
        self._variables = share_variables(subject, options, context)
        self._scrub = _scrubber(self._variables, context)
        self._without: str | None = None
        """Why there is no sandbox, where rollouts need one."""
        self._of_tasks: list[Check] = []
        self._attack: AttackReport | None = None
        self._of_attack: list[Check] = []

    def run(self) -> CheckOutcome:
        checks = {
            check.id: check
            for check in inspect_package(self._subject, self._declared, self._context.environ)
        }
        if checks["build"].status == "fail":
            message = checks["build"].sentence
            return self._closed(checks, EnvironmentFailed(message, hint=checks["build"].step))
        try:
            interpreter, first, second = self._sound()
        except EnvironmentFailed as error:
            step = error.hint or "find the cause with `prime eval run … -m builtin/echo -n 1`"
            checks["load"] = failed("load", error.message, step)
            return self._closed(checks, error)
        checks["load"] = loaded(interpreter, first)
        checks["dependencies"] = inspect_dependencies(self._subject, interpreter.verifiers)
        found = inspect_runs(first, second, self._declaration)
        checks.update({check.id: check for check in found})
        if self._without:
            checks.update({check.id: check for check in without_sandbox(self._without)})
        checks.update({check.id: check for check in (*self._of_tasks, *self._of_attack)})
        return self._closed(checks, None, interpreter, first)

    def _sound(self) -> tuple[Interpreter, ProbeRun, ProbeRun]:
        subject, options, context = self._subject, self._options, self._context
        progress = context.progress
        interpreter = interpreter_of(subject, options, self._variables, context)
        if use := sandbox_use(subject.package.path):
            self._without = announce_sandboxes(use, self._plan, context)
        with tempfile.TemporaryDirectory(prefix="prime-check-") as folder:
            fresh = make_anew(interpreter, subject.package, subject.beside(), Path(folder))
            bench = set_up_probes(self._plan, fresh, options, self._variables, context)
            below = below_of(interpreter.python.parent.parent)
            if bench.walls is not None and below is not None:
                # The new interpreter has its own folder, and that layer beside the first one.
                bench = replace(bench, walls=replace(bench.walls, readable=(below,)))
            with progress.task(f"Checking {subject.environment.name}", unit="rollouts") as task:
                rollouts = options.examples * len(CHECKED)
                task.update(total=2 * rollouts, note="loading it")
                every = set(CHECKED)
                none = every if self._without else ()
                first = asyncio.run(run_probes(bench, progress, task, without=none))
                others = every if self._without else every - set(of_interest(first))
                task.update(total=2 * rollouts - options.examples * len(others), note="once more")
                second = asyncio.run(run_probes(bench, progress, task, without=others))
            if options.every_task:
                self._of_tasks = check_tasks(bench, progress)
            if options.attack:
                self._attack, self._of_attack = attack_wheel(
                    replace(bench, first=max(ATTACKED, options.examples)),
                    subject.package,
                    options.benchmark,
                    progress,
                    search_calls=options.attack_calls,
                )
        return fresh, first, second

    def _closed(
        self,
        checks: dict[str, Check],
        failure: EnvironmentFailed | None,
        interpreter: Interpreter | None = None,
        first: ProbeRun | None = None,
    ) -> CheckOutcome:
        """The report in the order of the checks; checks that did not run are skipped."""
        order = [*ORDER, *(OF_TASKS if self._options.every_task else ())]
        order += OF_ATTACKS if self._options.attack else ()
        ordered = [checks.get(name) or skipped(name, "Not reached") for name in order]
        wanted = [
            skipped(check.id, "Skipped by [tool.prime.check]")
            if check.id in self._declaration.skip and check.id not in ("build", "load")
            else check
            for check in ordered
        ]
        start = first.start if first else None
        report = _report(
            self._subject.environment.title,
            wanted,
            wheel_sha256=self._subject.package.sha256,
            python=interpreter.python_version if interpreter else None,
            verifiers=interpreter.verifiers if interpreter else None,
            generation=interpreter.generation if interpreter else None,
            examples=len(first.examples) if first else 0,
            fingerprint=start.fingerprint if start else None,
            attack=self._attack,
        )
        return CheckOutcome(decode(self._scrub(encode(report)), CheckReport), failure)


def prepare_probes(
    text: str, options: CheckOptions, lookup: LookupContext, context: RunContext
) -> ProbeSetup:
    """What runs of what `text` names need, in an interpreter that has it.

    Raises as `check_environment`, and EnvironmentFailed for what does not build.
    """
    located = locate(text, lookup, context.progress)
    subject, options = _obtain_subject(located, text, options, lookup, context)
    variables = share_variables(subject, options, context)
    interpreter = interpreter_of(subject, options, variables, context)
    return set_up_probes(plan_probes(subject, options), interpreter, options, variables, context)


_ENDPOINT = Endpoint(PROBES, builtin=True)


def _scrubber(variables: Variables, context: RunContext) -> Scrubber:
    passed = {name: variables.given[name] for name in variables.allowed}
    return Scrubber(secrets_of(_ENDPOINT, context.environ, passed))


def share_variables(
    subject: ResolvedEnvironment, options: CheckOptions, context: RunContext
) -> Variables:
    """What the environment's processes are given; each key that they may read is said."""
    plan = plan_probes(subject, options)
    declared = declared_keys(subject.package.path)
    passed = passed_keys(plan, declared, context.variables, context.progress)
    keys = known_keys(_ENDPOINT, Registry(), context.environ)
    return share(context.variables, passed, keys=keys, sandboxed=plan.sandbox)


def interpreter_of(
    subject: ResolvedEnvironment,
    options: CheckOptions,
    variables: Variables,
    context: RunContext,
    requirements: tuple[str, ...] = (),
) -> Interpreter:
    """Find or create the interpreter of `subject`; raises as prepare_interpreter."""
    return prepare_interpreter(
        subject.package,
        lock=subject.lock,
        verifiers=options.verifiers,
        python=options.python,
        requirements=requirements,
        extra_wheels=subject.beside,
        offline=context.options.offline,
        progress=context.progress,
        variables=variables,
    )


def set_up_probes(
    plan: EvalPlan,
    interpreter: Interpreter,
    options: CheckOptions,
    variables: Variables,
    context: RunContext,
) -> ProbeSetup:
    """What runs the probes of `plan`; its log is begun anew."""
    logs = make_folder(home_path(prime_home(), "cache") / "checks")
    log = logs / f"{plan.environment.name}.log"
    log.unlink(missing_ok=True)
    judges = context.environ if options.judges else {}
    registry = (
        load_registry(options.endpoints, context.cwd, context.environ)
        if options.judges
        else Registry()
    )
    return ProbeSetup(
        plan=plan,
        interpreter=interpreter,
        first=options.examples,
        rollout_seconds=options.rollout_seconds,
        variables=variables,
        scrub=_scrubber(variables, context),
        log=log,
        judges=judges,
        registry=registry,
        walls=sandbox_for(plan),
        offline=context.options.offline,
        hub=relay_for(plan, context, f"check-{secrets.token_hex(6)}", resumes=False),
    )


def plan_probes(
    subject: ResolvedEnvironment, options: CheckOptions, probes: int = len(CHECKED)
) -> EvalPlan:
    """The plan of a run with the first `probes` of OracleProbe."""
    plan = EvalPlan(
        environment=subject.environment,
        model=PROBES,
        endpoint="builtin",
        num_examples=max(SURVEYED, options.examples),
        rollouts_per_example=probes,
        sampling={},
        env_args=dict(options.env_args),
        extra_args=dict(options.extra_args),
        concurrency=options.concurrency,
        env_vars=options.env_vars,
        verifiers=options.verifiers,
        python=options.python,
        sandbox=options.sandbox,
    )
    return plan.with_option("sandbox_provider", options.sandbox_provider)


def _report(environment: str, checks: list[Check], **facts: Any) -> CheckReport:
    found = tuple(checks)
    return CheckReport(
        environment=environment[-200:],
        verdict=verdict_of(found),
        checks=found,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        prime=__version__,
        **facts,
    )
