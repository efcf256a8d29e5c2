"""From a run's setup to a fleet: what nodes are told, and what a cluster cannot do."""

from collections.abc import Iterator

import msgspec

from prime_cli.core.errors import InternalError, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.evals.execution.setup import RunContext, RunSetup
from prime_cli.evals.execution.worker_failures import RestartPolicy
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.planning.source_scan import sandbox_use
from prime_cli.evals.ray.connection import Connection
from prime_cli.evals.ray.fleet import Fleet
from prime_cli.evals.ray.wire import Access, NodeEndpoint, NodeEntry, Open, SentWheel
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.tally import RolloutKey
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.packages import WheelPackage

_MOST_UNITS = 10**9


def require_for_cluster(prepared: PreparedRun, context: RunContext) -> None:
    """Raise UsageError for a run that needs this machine."""
    origin, plan = prepared.origin, prepared.plan
    here = {
        "A replay answers from this machine": prepared.recording is not None,
        "Scoring a saved run again": origin is not None and origin.rescored_of is not None,
        "`--debug`": context.debug,
        "Recording tokens": context.tap is not None,
        "A budget of several runs": context.budget is not None,
    }
    found = next((name for name, is_so in here.items() if is_so), None)
    if found is not None:
        raise UsageError(f"{found} does not run on a cluster", hint="omit `--ray`")
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
    whole = _access(setup)
    order = _order(setup, work, whole, is_capped=gateway.hold.budget is not None)
    if setup.scrub(msgspec.json.encode(order)) != msgspec.json.encode(order):
        raise UsageError(
            "The plan of this run holds a key, which Ray would keep and log",
            hint="put it into a variable: `-k NAME`, or `--env-var NAME`",
        )
    package, subject = setup.prepared.subject.package, setup.prepared.subject
    order = msgspec.structs.replace(
        order, wheel=_sent(package), beside=[_sent(each) for each in subject.beside()]
    )
    workers, address = setup.plan.option("workers"), setup.plan.ray or "auto"
    secret = (*setup.access.variables.secret, *setup.access.passed)
    return Fleet(
        setup,
        gateway,
        work,
        lambda start: restarts.next_units(start, _MOST_UNITS),
        again,
        order=order,
        access=whole,
        address=address,
        connection=Connection(address, secret),
        workers=None if workers is None else int(workers),
    )


def _access(setup: RunSetup) -> Access:
    prepared, environ = setup.prepared, setup.context.environ
    price_of = setup.prices.price_of
    return Access(
        endpoints=[NodeEndpoint.of(each, price_of(each)) for each in prepared.endpoint.group],
        entries=[NodeEntry.of(each, each.key.find(environ)) for each in prepared.registry.entries],
        variables=dict(setup.access.passed),
        secret=sorted(setup.access.secrets),
    )


def _order(setup: RunSetup, work: WorkList, whole: Access, *, is_capped: bool) -> Open:
    lock = setup.interpreter.lock
    if lock is None:
        raise InternalError("A cluster needs an interpreter with a lock")
    own = {**setup.context.given, **setup.access.secrets}.keys() & whole.variables.keys()
    return Open(
        run_id=setup.run_id,
        plan=setup.plan,
        access=_without_secrets(whole),
        names=sorted({*_key_variables(whole), *whole.variables}),
        must_fetch=bool(own) or any(_unnamed(whole)),
        is_capped=is_capped,
        offline=setup.context.offline,
        prefix=work.prefix,
        fingerprint=work.fingerprint,
        lock=lock,
        wheel=SentWheel("", "", b""),
    )


def _key_variables(access: Access) -> Iterator[str]:
    yield from (each.key_var for each in access.endpoints if each.key and each.key_var)
    yield from (each.variable for each in access.entries if each.literal and each.variable)


def _unnamed(access: Access) -> Iterator[bool]:
    """Whether there are secrets that no variable holds."""
    for each in access.endpoints:
        yield bool(each.headers or each.query or (each.key and not each.key_var))
    for entry in access.entries:
        yield bool(entry.headers or (entry.literal and not entry.variable))


def _without_secrets(access: Access) -> Access:
    replace = msgspec.structs.replace
    return Access(
        endpoints=[replace(each, key=None, headers={}, query="") for each in access.endpoints],
        entries=[replace(each, literal=None, headers={}) for each in access.entries],
        variables=dict.fromkeys(access.variables, ""),
    )


def _sent(package: WheelPackage) -> SentWheel:
    with storage_errors(package.path):
        content = package.path.read_bytes()
    return SentWheel(package.path.name, package.sha256, content, package.extras)
