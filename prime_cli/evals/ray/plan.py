"""From a run's setup to a fleet: what nodes are sent, and what a cluster cannot do."""

import msgspec

from prime_cli.core.errors import InternalError, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.evals.execution.setup import RunContext, RunSetup
from prime_cli.evals.execution.worker_failures import RestartPolicy
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.planning.source_scan import sandbox_use
from prime_cli.evals.ray.access import (
    Access,
    access_of,
    has_unnamed_secrets,
    key_variables,
    without_secrets,
)
from prime_cli.evals.ray.connection import Connection
from prime_cli.evals.ray.fleet import Fleet, FleetWork
from prime_cli.evals.ray.messages import Open, WheelFile
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.tally import RolloutKey
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.packages import WheelPackage

_MOST_UNITS = 10**9


def require_for_cluster(prepared: PreparedRun, context: RunContext) -> None:
    """Raise UsageError for a run that needs this machine."""
    origin, plan = prepared.origin, prepared.plan
    here_only = {
        "A replay": prepared.recording is not None,
        "Rescoring a run": origin is not None and origin.rescored_of is not None,
        "`--debug`": context.debug,
        "Recording tokens": context.tap is not None,
        "A budget that several runs share": context.budget is not None,
    }
    found = next((name for name, applies in here_only.items() if applies), None)
    if found is not None:
        raise UsageError(f"{found} works on this machine only", hint="omit `--ray`")
    use = sandbox_use(prepared.subject.package.path)
    if use is not None and plan.option("sandbox_provider") != "none":
        raise UsageError(
            f"`{plan.environment.name}` asks for sandboxes, which nodes of Ray do not get",
            hint="run it in parts instead: `--shard I/N`, see docs/clusters.md",
        )


def fleet_for(
    setup: RunSetup,
    gateway: Gateway,
    work: WorkList,
    restarts: RestartPolicy,
    again: dict[RolloutKey, str],
) -> Fleet:
    """The workers of `setup` on its cluster; raises UsageError, StorageFailed."""
    if work.to_score:
        raise UsageError(
            f"{len(work.to_score)} saved answers are only to be scored again, which needs this "
            "machine",
            hint="resume it here with `--ray none`, or ask the model again with `--retry-errors`",
        )
    whole = access_of(setup)
    opening = _opening(setup, work, whole, is_capped=gateway.hold.budget is not None)
    content = msgspec.json.encode(opening)
    if setup.scrub(content) != content:
        raise UsageError(
            "The plan of this run holds a key, which Ray would keep and log",
            hint="put it into a variable: `-k NAME`, or `--env-var NAME`",
        )
    subject = setup.prepared.subject
    packages = [subject.package, *subject.beside()]
    workers = setup.plan.option("workers")
    job = FleetWork(
        work=work,
        units=lambda start: restarts.next_units(start, _MOST_UNITS),
        again=again,
        opening=msgspec.structs.replace(opening, wheels=[*map(_wheel_file, packages)]),
        access=whole,
        files={each.sha256: _content(each) for each in packages},
    )
    secret = (*setup.access.variables.secret, *setup.access.passed)
    connection = Connection(setup.plan.ray or "auto", secret)
    return Fleet(setup, gateway, job, connection, workers=workers and int(workers))


def _opening(setup: RunSetup, work: WorkList, whole: Access, *, is_capped: bool) -> Open:
    lock = setup.interpreter.lock
    if lock is None:
        raise InternalError("A cluster needs an interpreter with a lock")
    own = {**setup.context.given, **setup.access.secrets}.keys() & whole.variables.keys()
    return Open(
        run_id=setup.run_id,
        plan=setup.plan,
        access=without_secrets(whole),
        names=sorted({*key_variables(whole), *whole.variables}),
        must_fetch=bool(own) or has_unnamed_secrets(whole),
        is_capped=is_capped,
        offline=setup.context.offline,
        prefix=work.prefix,
        fingerprint=work.fingerprint,
        lock=lock,
    )


def _wheel_file(package: WheelPackage) -> WheelFile:
    return WheelFile(package.path.name, package.sha256, package.extras)


def _content(package: WheelPackage) -> bytes:
    with storage_errors(package.path):
        return package.path.read_bytes()
