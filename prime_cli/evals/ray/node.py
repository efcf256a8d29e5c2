"""A worker on a node: its own gateway, and one worker of the environment that follows orders.

It has a thread with an event loop of its own: what Ray does in the process must not hold it up.
"""

import asyncio
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import IntegrityError, InternalError, PrimeError, WorkerDied
from prime_cli.core.file_locks import locked
from prime_cli.core.paths import home_path, make_folder, prime_home, write_atomically
from prime_cli.core.progress import Silent
from prime_cli.evals.execution.run import open_cache
from prime_cli.evals.execution.setup import (
    RunContext,
    RunSetup,
    access_to,
    make_spec,
    namespace_for,
    sandbox_for,
    with_gateway,
    worker_of,
)
from prime_cli.evals.planning.locate import EvalDefaults, ResolvedEnvironment
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.ray.keys import fetch
from prime_cli.evals.ray.leases import Lease
from prime_cli.evals.ray.wire import (
    Access,
    AskKeys,
    Broken,
    FetchKeys,
    Grant,
    Happened,
    Message,
    Open,
    Order,
    Printed,
    Problem,
    Refused,
    Said,
    SentWheel,
    Spent,
    Stopped,
    Used,
    decode,
    registry_of,
)
from prime_cli.models.gateway.limits.shared_state import limits_folder
from prime_cli.models.gateway.oracle import GoldAnswers, OracleQuestion
from prime_cli.models.gateway.oracle import Message as OracleMessage
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.price_book import load_prices
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.scrubber import Scrubber, secrets_of
from prime_cli.runs.spending import write_charges
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.interpreters import prepare_interpreter
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.packages import WheelPackage, read_package, with_extras
from prime_cli.runtime.protocol import Cancel, Event, Finish, RunRollouts, Start
from prime_cli.runtime.variables import PRIME_KEY, STAND_IN

_PREPARE_SECONDS = 3600.0
_TICK_SECONDS = 1.0


class Node:
    """One worker. `tell` and `take` may be called in any thread."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._orders: asyncio.Queue[Order] = asyncio.Queue()
        self._loop = asyncio.new_event_loop()
        self._scrub = Scrubber({})
        threading.Thread(target=self._run, daemon=True).start()

    def tell(self, order: bytes) -> None:
        """Take an order."""
        self._loop.call_soon_threadsafe(self._orders.put_nowait, decode(order, Order))

    def take(self, seconds: float) -> list[bytes]:
        """What there is to say; waits so long for it."""
        found: list[bytes] = []
        try:
            found.append(self._messages.get(timeout=seconds))
            while True:
                found.append(self._messages.get_nowait())
        except queue.Empty:
            return found

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except PrimeError as error:
            self._say(Broken(Problem.of(error), died=isinstance(error, WorkerDied)))
        except Exception as error:  # noqa: BLE001 - Ray would print it, with what it holds
            told = InternalError(f"A worker on a node failed: {type(error).__name__}: {error}")
            self._say(Broken(Problem.of(told)))

    def _say(self, message: Message) -> None:
        # An environment may print a key: it stays on its node.
        self._messages.put(self._scrub(msgspec.json.encode(message)))

    async def _live(self) -> None:
        order = await self._orders.get()
        while not isinstance(order, Open):
            order = await self._orders.get()
        access = await self._access(order)
        setup, lease = self._set_up(order, access)
        session = _Session(order, setup, lease, self._orders, self._say)
        try:
            await session.run()
        finally:
            shutil.rmtree(setup.folder.path, ignore_errors=True)

    async def _access(self, order: Open) -> Access:
        """What `order` names, with the keys of this node's environment or those of the parent."""
        missing = [name for name in order.names if not os.environ.get(name)]
        if not missing and not order.must_fetch:
            return _with_own_keys(order.access, os.environ)
        self._say(AskKeys(missing))
        ticket = await self._orders.get()
        while not isinstance(ticket, FetchKeys):
            ticket = await self._orders.get()
        return await fetch(ticket)

    def _set_up(self, order: Open, access: Access) -> tuple[RunSetup, Lease]:
        plan = order.plan
        endpoints = [each.endpoint() for each in access.endpoints]
        endpoint = replace(endpoints[0], others=tuple(endpoints[1:]))
        registry = registry_of(access.entries)
        keys = {each.key_var: each.key for each in access.endpoints if each.key_var and each.key}
        environ = {**os.environ, **keys}
        secrets = secrets_of(endpoint, environ, access.variables, registry)
        self._scrub = Scrubber({**secrets, **{n: access.variables[n] for n in access.secret}})
        package = _saved(order.wheel)
        subject = ResolvedEnvironment(plan.environment, package, EvalDefaults(), order.lock)
        prepared = PreparedRun(plan, subject, endpoint, registry)
        progress = Silent()
        folder = RunFolder(Path(tempfile.mkdtemp(prefix="prime-ray-")))
        context = RunContext(folder.path, environ, progress, order.offline, debug=False)
        allowed = access_to(access.variables, prepared, context, sandbox_for(plan))
        # The first worker of a node makes it, the others find it.
        with locked(home_path(prime_home(), "cache") / "ray.lock", seconds=_PREPARE_SECONDS):
            interpreter = prepare_interpreter(
                package,
                lock=order.lock,
                is_pinned=True,
                verifiers=plan.verifiers,
                python=None,
                requirements=plan.option("with_packages", ()),
                extra_wheels=lambda: [_saved(each) for each in order.beside],
                offline=order.offline,
                progress=progress,
                sandbox=allowed.sandbox,
                variables=allowed.variables,
            )
        lease = Lease(plan.max_cost, plan.token_budget)
        setup = RunSetup(
            prepared=prepared,
            context=context,
            folder=folder,
            interpreter=interpreter,
            access=allowed,
            gateway=GatewaySettings(
                call_seconds=plan.deadlines.call_seconds,
                limits_folder=limits_folder(),
                price_of=(prices := load_prices()).price_of,
                budget=lease if order.is_capped else None,
                cache=open_cache(self._scrub) if plan.cache else None,
                sandboxed=allowed.sandbox is not None,
                fail_fast=plan.fail_fast,
                also_accepted=tuple(
                    key for name in (STAND_IN, PRIME_KEY) if (key := access.variables.get(name))
                ),
            ),
            prices=prices,
            scrub=self._scrub,
            namespace=namespace_for(plan, progress),
        )
        return setup, lease


class _Session:
    """The live part: gateway and worker, orders in, messages out."""

    def __init__(
        self,
        order: Open,
        setup: RunSetup,
        lease: Lease,
        orders: "asyncio.Queue[Order]",
        say: Callable[[Message], None],
    ) -> None:
        self._order = order
        self._setup = setup
        self._lease = lease
        self._orders = orders
        self._say = say
        self._gold = GoldAnswers()
        self._told_in_flight = 0
        self._gateway: Gateway
        self._worker: Worker

    async def run(self) -> None:
        """Until the worker ends; raises WorkerDied."""
        setup = self._setup
        async with Gateway(
            setup.prepared.endpoint,
            setup.prepared.registry,
            run_id=self._order.run_id,
            gold=self._gold,
            environ=setup.context.environ,
            offline=setup.context.offline,
            settings=setup.gateway,
            say=lambda text: self._say(Said(text)),
        ) as self._gateway:
            self._gateway.hold.on_close(self._tell_why)
            async with self._make_worker() as self._worker:
                helpers = [asyncio.ensure_future(each) for each in (self._obey(), self._tick())]
                try:
                    await self._listen()
                finally:
                    for helper in helpers:
                        helper.cancel()
                    self._report()

    def _make_worker(self) -> Worker:
        setup, gateway, order = self._setup, self._gateway, self._order
        walls = with_gateway(setup.access.sandbox or setup.namespace, gateway.socket_path)
        work = WorkList(setup.plan.concurrency, prefix=order.prefix, fingerprint=order.fingerprint)
        spec = make_spec(
            setup.plan,
            setup.interpreter,
            gateway.base_url,
            gateway.token,
            work,
            setup.access.variables,
            socket=None if walls is None else walls.gateway_socket,
        )
        spec = msgspec.structs.replace(spec, follow=True, offline=order.offline)
        return worker_of(setup, spec, walls, lambda line: self._say(Printed(line)))

    async def _listen(self) -> None:
        async for event in self._worker.events():
            if isinstance(event, Start):
                self._gold.learn(event.answers, self._ask if event.oracle else None)
            self._report()
            self._say(Happened(msgspec.Raw(msgspec.json.encode(_as_sent(event)))))

    async def _ask(self, question: OracleQuestion) -> OracleMessage | None:
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)

    async def _obey(self) -> None:
        while True:
            match await self._orders.get():
                case Grant() as grant:
                    self._lease.receive(grant)
                case Stopped(reason):
                    self._lease.stop(reason)
                case Refused(problem):
                    self._gateway.hold.close(problem.error())
                case Cancel():
                    await self._worker.cancel()
                case (RunRollouts() | Finish()) as order:
                    await self._worker.tell(order)

    async def _tick(self) -> None:
        while True:
            # A call that waits is told of at once.
            before = bool(self._lease.held)
            for _ in range(20):
                await asyncio.sleep(_TICK_SECONDS / 20)
                if self._lease.held and not before:
                    break
            self._report()

    def _report(self) -> None:
        """Say what was used since the last time, if anything."""
        ledger = self._gateway.ledger
        used = [Used(*pair, write_charges(ledger.settle(*pair))) for pair in list(ledger.open)]
        apart = ledger.settle_apart()
        if apart:
            used.append(Used(None, None, write_charges(apart)))
        served = [(*each, count) for each, count in ledger.served.items()]
        ledger.served.clear()
        held = sorted(self._lease.held | self._gateway.hold.held)
        in_flight = self._gateway.hold.in_flight
        if used or served or held or in_flight != self._told_in_flight:
            self._told_in_flight = in_flight
            self._say(Spent(used, served, held, in_flight))

    def _tell_why(self) -> None:
        """The gateway lets no more calls through."""
        hold = self._gateway.hold
        if hold.failure is not None:
            self._say(Refused(Problem.of(hold.failure)))
        elif hold.capped is not None:
            self._say(Stopped(hold.capped))


def _as_sent(event: Event) -> Event:
    """`event` without the answers, which the oracle needs here alone."""
    if isinstance(event, Start):
        return msgspec.structs.replace(event, answers={}, oracle=False)
    return event


def _with_own_keys(access: Access, environ: Mapping[str, str]) -> Access:
    """`access` with the keys of this node."""
    endpoints = [
        msgspec.structs.replace(each, key=environ[each.key_var].strip()) if each.key_var else each
        for each in access.endpoints
    ]
    variables = {name: environ[name] for name in access.variables}
    return msgspec.structs.replace(access, endpoints=endpoints, variables=variables)


def _saved(wheel: SentWheel) -> WheelPackage:
    """`wheel` where prime keeps wheels here; raises IntegrityError, StorageFailed."""
    path = home_path(prime_home(), "wheels") / wheel.sha256 / Path(wheel.name).name
    if digest_bytes(wheel.content) != wheel.sha256:
        raise IntegrityError(f"{wheel.name} arrived with other content")
    if not path.is_file():
        make_folder(path.parent)
        write_atomically(path, wheel.content)
    return with_extras(read_package(path), wheel.extras)
