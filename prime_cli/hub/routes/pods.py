"""Pods and disks."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.hub.dispatch import call_provider, hub_of
from prime_cli.hub.routes.operations import Number, Operation, Text, Texts
from prime_cli.hub.routes.requests import caller_of, read_json
from prime_cli.hub.routes.responses import answer
from prime_cli.hub.services.compute import disks, pods
from prime_cli.hub.services.compute.creation import create_pod
from prime_cli.hub.services.compute.leaks import sweep
from prime_cli.hub.services.compute.refresh import terminate
from prime_cli.wire.disks import Disk, DiskChange, DiskCreation, DiskPage
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

# --- Pods ---

_OFFSET = Number("offset", "Number of items to skip", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "Maximum number of items", default=100, least=1, most=1000)
_IDS = Texts(Text("pod_ids", "Pod id; repeat for several pods"), most=200)
_TAIL = Number("tail", "Number of lines from the end", default=100, least=1, most=10_000)
_SORT_BY = Text("sort_by", "Sort key", choices=("terminatedAt", "createdAt"))
_SORT_ORDER = Text("sort_order", "Sort order", choices=("asc", "desc"))
_LARGEST_BODY = 8 * 1024 * 1024


async def list_pods(request: Request) -> Response:
    page = await call_provider(
        request,
        pods.list_pods,
        hub_of(request),
        caller_of(request),
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def list_history(request: Request) -> Response:
    page = await call_provider(
        request,
        pods.list_past,
        hub_of(request),
        caller_of(request),
        by_creation=_SORT_BY.read(request) == "createdAt",
        descending=_SORT_ORDER.read(request) != "asc",
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def list_states(request: Request) -> Response:
    args = hub_of(request), caller_of(request), _IDS.read(request)
    return answer(await call_provider(request, pods.list_states, *args))


async def rent_pod(request: Request) -> Response:
    wanted = await read_json(request, PodCreation, most=_LARGEST_BODY)
    return answer(
        await call_provider(request, create_pod, hub_of(request), caller_of(request), wanted)
    )


async def show_pod(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, pods.get_pod, *args))


async def show_endable(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, pods.get_endable, *args))


async def show_log(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, pods.read_log, *args, lines=_TAIL.read(request)))


async def end_pod(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, terminate, *args))


async def sweep_(request: Request) -> Response:
    wanted = await read_json(request, Sweep)
    args = hub_of(request), caller_of(request)
    return answer(await call_provider(request, sweep, *args, dry_run=wanted.dry_run))


# --- Disks ---

_DISK = "/disks/{id}"


async def list_disks(request: Request) -> Response:
    args = hub_of(request), caller_of(request)
    offset, limit = _OFFSET.read(request), _LIMIT.read(request)
    return answer(await call_provider(request, disks.list_disks, *args, offset=offset, limit=limit))


async def rent_disk(request: Request) -> Response:
    creation = await read_json(request, DiskCreation)
    args = hub_of(request), caller_of(request), creation
    return answer(await call_provider(request, disks.create_disk, *args))


async def show_disk(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, disks.get_disk, *args))


async def rename_disk(request: Request) -> Response:
    change = await read_json(request, DiskChange)
    args = hub_of(request), caller_of(request), request.path_params["id"], change.name
    return answer(await call_provider(request, disks.rename_disk, *args))


async def terminate_disk(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["id"]
    return answer(await call_provider(request, disks.terminate_disk, *args))


OPERATIONS = (
    Operation(
        "GET",
        "/pods",
        list_pods,
        "List pods",
        answers=PodPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "POST",
        "/pods",
        rent_pod,
        "Create a pod",
        answers=Pod,
        takes=PodCreation,
        enveloped=False,
        needs_key=True,
    ),
    # Before the addresses of single pods: the first one that fits answers.
    Operation(
        "GET",
        "/pods/history",
        list_history,
        "List terminated pods",
        answers=PastPage,
        query=(_SORT_BY, _SORT_ORDER, _OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/pods/status",
        list_states,
        "Get the status of pods",
        answers=PodStates,
        query=(_IDS,),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "POST",
        "/pods/sweep",
        sweep_,
        "Find and terminate orphaned and expired pods and disks",
        answers=Swept,
        takes=Sweep,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET", "/pods/{id}", show_pod, "Show a pod", answers=Pod, enveloped=False, needs_key=True
    ),
    Operation(
        "GET",
        "/pods/{id}/log",
        show_log,
        "Get the log of a pod",
        answers=PodLog,
        query=(_TAIL,),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/pods/{id}/endable",
        show_endable,
        "Show what is needed to terminate another user's pod",
        answers=Endable,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        "/pods/{id}",
        end_pod,
        "Terminate a pod",
        answers=Ended,
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET", "/disks", list_disks, "List disks",
        answers=DiskPage, query=(_OFFSET, _LIMIT), enveloped=False, needs_key=True,
    ),
    Operation(
        "POST", "/disks", rent_disk, "Create a disk",
        answers=Disk, takes=DiskCreation, enveloped=False, needs_key=True,
    ),
    Operation(
        "GET", _DISK, show_disk, "Show a disk",
        answers=Disk, enveloped=False, needs_key=True,
    ),
    Operation(
        "PATCH", _DISK, rename_disk, "Rename a disk",
        answers=Disk, takes=DiskChange, enveloped=False, needs_key=True,
    ),
    Operation(
        "DELETE", _DISK, terminate_disk, "Delete a disk and all data on it",
        answers=Ended, enveloped=False, needs_key=True,
    ),
)  # fmt: skip
