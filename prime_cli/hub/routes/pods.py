"""Pods: made, looked at and ended."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call_provider, hub_of
from prime_cli.hub.routes.answers import answer
from prime_cli.hub.routes.operations import Operation
from prime_cli.hub.routes.parameters import Number, Text, Texts
from prime_cli.hub.routes.reading import caller_of, read_json
from prime_cli.hub.services.compute import reading
from prime_cli.hub.services.compute.creating import create_pod
from prime_cli.hub.services.compute.ending import terminate
from prime_cli.hub.services.compute.sweeping import sweep
from prime_cli.wire.pods import (
    Endable,
    Ended,
    PastPage,
    Pod,
    PodCreation,
    PodLog,
    PodPage,
    PodStates,
    Sweep,
    Swept,
)

_OFFSET = Number("offset", "How many to pass over", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "How many", default=100, least=1, most=1000)
_IDS = Texts(Text("pod_ids", "A pod; as many as are wanted"), most=200)
_TAIL = Number("tail", "How many lines, from the end", default=100, least=1, most=10_000)
_SORT_BY = Text("sort_by", "What the order follows", choices=("terminatedAt", "createdAt"))
_SORT_ORDER = Text("sort_order", "Which way", choices=("asc", "desc"))
_LARGEST_BODY = 8 * 1024 * 1024


async def list_(request: Request) -> Response:
    page = await call_provider(
        request,
        reading.list_pods,
        hub_of(request),
        caller_of(request),
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def history(request: Request) -> Response:
    page = await call_provider(
        request,
        reading.list_past,
        hub_of(request),
        caller_of(request),
        by_creation=_SORT_BY.read(request) == "createdAt",
        descending=_SORT_ORDER.read(request) != "asc",
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def states(request: Request) -> Response:
    args = hub_of(request), caller_of(request), _IDS.read(request)
    return answer(await call_provider(request, reading.list_states, *args))


async def create(request: Request) -> Response:
    wanted = await read_json(request, PodCreation, most=_LARGEST_BODY)
    return answer(
        await call_provider(request, create_pod, hub_of(request), caller_of(request), wanted)
    )


async def show(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, reading.get_pod, *args))


async def endable(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, reading.get_endable, *args))


async def log(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, reading.read_log, *args, lines=_TAIL.read(request)))


async def end(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, terminate, *args))


async def sweep_(request: Request) -> Response:
    wanted = await read_json(request, Sweep)
    args = hub_of(request), caller_of(request)
    return answer(await call_provider(request, sweep, *args, dry_run=wanted.dry_run))


OPERATIONS = (
    Operation(
        "GET",
        "/pods",
        list_,
        "List pods",
        answers=PodPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "POST",
        "/pods",
        create,
        "Rent a pod",
        answers=Pod,
        takes=PodCreation,
        enveloped=False,
        needs_key=True,
    ),
    # Before the addresses of single pods: the first one that fits answers.
    Operation(
        "GET",
        "/pods/history",
        history,
        "List pods that ended",
        answers=PastPage,
        query=(_SORT_BY, _SORT_ORDER, _OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/pods/status",
        states,
        "Show how pods are",
        answers=PodStates,
        query=(_IDS,),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "POST",
        "/pods/sweep",
        sweep_,
        "Find and end what is there without need",
        answers=Swept,
        takes=Sweep,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET", "/pods/{id}", show, "Show a pod", answers=Pod, enveloped=False, needs_key=True
    ),
    Operation(
        "GET",
        "/pods/{id}/log",
        log,
        "Show the log of a pod",
        answers=PodLog,
        query=(_TAIL,),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/pods/{id}/endable",
        endable,
        "Show whoever may end a pod whose it is",
        answers=Endable,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        "/pods/{id}",
        end,
        "Give a pod back",
        answers=Ended,
        enveloped=False,
        needs_key=True,
    ),
)
