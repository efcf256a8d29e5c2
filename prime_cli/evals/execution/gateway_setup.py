"""What the gateway of a run is set up with, on this machine and on a node of a cluster."""

from collections.abc import Callable

from prime_cli.core.paths import home_path, prime_home
from prime_cli.evals.execution.setup import RunContext, RunSetup, WorkerAccess, namespace_for
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.models.gateway.completion_cache import CompletionStore
from prime_cli.models.gateway.limits.shared_state import limits_folder
from prime_cli.models.gateway.oracle import GoldAnswers
from prime_cli.models.gateway.replay import Recording
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings, HubRelay, OpenRelay
from prime_cli.models.price_book import load_prices
from prime_cli.models.prices import Budget
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.scrubber import Scrubber
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.variables import PRIME_KEY, STAND_IN


def complete_setup(
    prepared: PreparedRun,
    interpreter: Interpreter,
    access: WorkerAccess,
    context: RunContext,
    folder: RunFolder,
    *,
    budget: Budget | None,
    scrub: Scrubber,
    hub: OpenRelay | None = None,
) -> RunSetup:
    """The setup of a run whose gateway counts into `budget`; raises StorageFailed."""
    plan = prepared.plan
    prices = prepared.prices or load_prices()
    return RunSetup(
        prepared=prepared,
        context=context,
        folder=folder,
        interpreter=interpreter,
        access=access,
        gateway=GatewaySettings(
            call_seconds=plan.deadlines.call_seconds,
            limits_folder=limits_folder(),
            price_of=prices.price_of,
            budget=budget,
            cache=_open_cache(scrub) if plan.cache else None,
            sandboxed=access.sandbox is not None,
            fail_fast=plan.fail_fast,
            tap=None if context.tap is None else context.tap.step,
            also_accepted=tuple(
                key for name in (STAND_IN, PRIME_KEY) if (key := access.passed.get(name))
            ),
            hub=hub,
        ),
        prices=prices,
        scrub=scrub,
        namespace=namespace_for(plan, context.progress),
    )


_SPARE_SANDBOXES = 2
"""More than rollouts at once: one may be on its way out while the next is made."""


def relay_for(
    plan: EvalPlan, context: RunContext, owner: str, *, resumes: bool
) -> OpenRelay | None:
    """What passes on what the environment asks of sandboxes; None if there are to be none.

    The `owner` tells them from those of other runs.
    """
    provider, open_hub = plan.option("sandbox_provider"), context.open_sandboxes
    if provider == "none" or open_hub is None:
        return None

    def open_relay(say: Callable[[str], None]) -> HubRelay:
        from prime_cli.models.gateway.sandboxes import SandboxAccess, SandboxRelay
        from prime_cli.wire.sandboxes import RUN_LABEL

        label, most = f"{RUN_LABEL}{owner}", plan.concurrency + _SPARE_SANDBOXES
        is_closed = plan.only_gateway or (plan.sandbox and not plan.allow_net)
        access = SandboxAccess(lambda: open_hub(provider), label, most, resumes, is_closed)
        return SandboxRelay(access, say)

    return open_relay


def _open_cache(scrub: Scrubber) -> CompletionStore:
    """`cache/responses` in PRIME_HOME; raises StorageFailed if it cannot be created."""
    store = CompletionStore(home_path(prime_home(), "cache") / "responses", scrub)
    store.open()
    return store


def gateway_of(
    setup: RunSetup,
    gold: GoldAnswers,
    say: Callable[[str], None],
    saved: Recording | None = None,
) -> Gateway:
    """The gateway of the run; it answers from `saved` what was answered before."""
    return Gateway(
        setup.prepared.endpoint,
        setup.prepared.registry,
        run_id=setup.run_id,
        gold=gold,
        environ=setup.context.environ,
        offline=setup.context.offline,
        settings=setup.gateway,
        recording=setup.prepared.recording,
        saved=saved,
        say=say,
    )


def close_cache(setup: RunSetup) -> None:
    """Drop the oldest responses, and say if some could not be kept."""
    cache = setup.gateway.cache
    if cache is not None:
        cache.prune()
        if cache.trouble is not None:
            setup.context.progress.warn(f"Not all responses could be cached: {cache.trouble}")
