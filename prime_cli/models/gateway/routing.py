"""Where a call goes, by the name of its model, and which calls a sandbox lets through."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import cycle, islice

from prime_cli.core.errors import NotAllowed, PrimeError
from prime_cli.models.endpoints import (
    Endpoint,
    check_offline,
    endpoint_of,
    resolve_endpoint,
)
from prime_cli.models.gateway.builtin import BuiltinModels
from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply
from prime_cli.models.gateway.payloads import with_fields
from prime_cli.models.registry import Registry

_ANSWERING = frozenset(
    (
        "audio/speech audio/transcriptions chat/completions completions embeddings "
        "images/generations messages moderations rerank responses"
    ).split()
)


async def allow_only_model_calls(call: Call, handler: Handler) -> Reply:
    """A step that lets calls of models through, and the list of them.

    With the user's key an endpoint would also hand out, and delete, what the account holds: files,
    stored answers, batches, fine-tuned models.
    """
    asks_a_model = call.method == "POST" and call.path in _ANSWERING
    if not asks_a_model and (call.method, call.path) != ("GET", "models"):
        raise CallFailed(
            f"{call.method} /v1/{call.path} is not a model call, and a sandbox allows nothing else",
            status=403,
            blame="environment",
            code="not_allowed_in_sandbox",
        )
    return await handler(call)


Send = Callable[[Endpoint, Call], Awaitable[Reply]]
"""Puts a call to an endpoint."""


class _RoundRobin:
    """The members of a group, one after the other."""

    def __init__(self, group: tuple[Endpoint, ...]) -> None:
        self.group = group
        self._size = len(group)
        self._turns = cycle(group)

    def take(self, is_free: Callable[[Endpoint], bool] | None) -> Endpoint:
        """The next that is free; the next of all where none is."""
        if self._size == 1 or is_free is None:
            return next(self._turns)
        candidates = list(islice(self._turns, self._size))
        chosen = next((n for n, member in enumerate(candidates) if is_free(member)), 0)
        for _ in range(chosen + 1):  # the next turn is that of the one after
            next(self._turns)
        return candidates[chosen]


class Router:
    """The end of the chain: the run's model goes to its endpoint, others where they are known.

    Other names are looked up in the registry, then sent to the user's own OPENAI_BASE_URL with
    OPENAI_API_KEY, which is not done when `sandboxed`, unless the run itself uses both. A group of
    endpoints is used in turn; a member of which `is_free` says no is passed over, unless that goes
    for all.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        registry: Registry,
        *,
        send: Send,
        builtin: BuiltinModels,
        environ: Mapping[str, str],
        offline: bool,
        is_free: Callable[[Endpoint], bool] | None = None,
        sandboxed: bool = False,
    ) -> None:
        self._is_free = is_free
        self._run = endpoint
        self._registry = registry
        self._send = send
        self._builtin = builtin
        self._environ = environ
        self._offline = offline
        self._sandboxed = sandboxed
        own = _RoundRobin(endpoint.group)
        self._routes: dict[str | None, _RoundRobin] = {None: own, endpoint.model: own}
        if endpoint.alias is not None:
            self._routes[endpoint.alias] = own

    async def __call__(self, call: Call) -> Reply:
        endpoint = self._route(call.head.model).take(self._is_free)
        if endpoint.builtin:
            reply = await self._builtin(call, endpoint.model)
        else:
            reply = await self._forward(call, endpoint)
        reply.endpoint = endpoint
        return reply

    def group_of(self, model: str | None) -> tuple[Endpoint, ...]:
        """The endpoints that calls for `model` go to; raises CallFailed where there are none."""
        return self._route(model).group

    def _route(self, model: str | None) -> _RoundRobin:
        route = self._routes.get(model)
        return self._learn(model or "") if route is None else route

    async def _forward(self, call: Call, endpoint: Endpoint) -> Reply:
        if call.head.model not in (None, endpoint.model):
            call = replace(call, body=with_fields(call.body, model=endpoint.model))
        return await self._send(endpoint, call)

    def _learn(self, name: str) -> _RoundRobin:
        try:
            endpoint = self._find(name)
            if self._offline:
                check_offline(endpoint)
        except PrimeError as error:
            raise CallFailed(
                f"`{name}` is not the model of this run (`{self._run.model}`), "
                f"and nothing else serves it: {error.message}; add it to "
                "endpoints.toml, or set OPENAI_API_KEY (and OPENAI_BASE_URL)",
                status=404,
                blame="environment",
                code="model_not_found",
            ) from error
        route = self._routes[name] = _RoundRobin(endpoint.group)
        return route

    def _find(self, name: str) -> Endpoint:
        entries = self._registry.find(name)
        if entries:
            return endpoint_of(entries, name, self._environ)
        found = resolve_endpoint(name, None, None, Registry(), self._environ)
        known = {(member.address, member.key) for member in self._run.group}
        if self._sandboxed and (found.address, found.key) not in known:
            raise NotAllowed(f"a sandbox does not call {found.url} with a key that was not given")
        return found
