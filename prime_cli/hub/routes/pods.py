"""What can be rented now, pods and disks."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call_provider
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.compute import disks, offers, pods
from prime_cli.hub.services.compute.creation import create_pod
from prime_cli.hub.services.compute.gc import collect_garbage
from prime_cli.hub.services.compute.reconcile import terminate
from prime_cli.wire.disks import Disk, DiskChange, DiskCreation, DiskPage
from prime_cli.wire.offers import (
    DiskOfferPage,
    DiskOfferQuery,
    OfferByTypeQuery,
    OfferPage,
    OfferQuery,
    OffersByType,
    Summary,
)
from prime_cli.wire.pods import (
    Endable,
    Ended,
    PastPage,
    PastPodQuery,
    Pod,
    PodCreation,
    PodLog,
    PodLogQuery,
    PodPage,
    PodStateQuery,
    PodStates,
    Sweep,
    Swept,
)
from prime_cli.wire.queries import PageQuery

router = Router(enveloped=False, needs_key=True)

# --- Offers ---


@router.get("/availability/gpus", "List available machines")
async def list_machines(request: Request, query: OfferQuery) -> OfferPage:
    return await call_provider(request, offers.list_offers, query, clusters=False)


@router.get("/availability/multi-node", "List available multi-node clusters")
async def list_clusters(request: Request, query: OfferQuery) -> OfferPage:
    return await call_provider(request, offers.list_offers, query, clusters=True)


@router.get("/availability", "List available machines by GPU type (for clients up to 0.4.11)")
async def list_machines_by_type(request: Request, query: OfferByTypeQuery) -> OffersByType:
    return await call_provider(request, offers.list_by_type, query, clusters=False)


@router.get(
    "/availability/clusters", "List available clusters by GPU type (for clients up to 0.4.11)"
)
async def list_clusters_by_type(request: Request, query: OfferByTypeQuery) -> OffersByType:
    return await call_provider(request, offers.list_by_type, query, clusters=True)


@router.get("/availability/gpu-summary", "Show the lowest machine prices")
async def summarize_machines(request: Request) -> Summary:
    return await call_provider(request, offers.summarize, clusters=False)


@router.get("/availability/multi-node-summary", "Show the lowest cluster prices")
async def summarize_clusters(request: Request) -> Summary:
    return await call_provider(request, offers.summarize, clusters=True)


@router.get("/availability/disks", "List available disks")
async def list_disk_offers(request: Request, query: DiskOfferQuery) -> DiskOfferPage:
    return await call_provider(request, offers.list_disk_offers, query)


# --- Pods ---

_POD = "/pods/{id}"


@router.get("/pods", "List pods")
async def list_pods(request: Request, query: PageQuery) -> PodPage:
    return await call_provider(request, pods.list_pods, query)


@router.post("/pods", "Create a pod", most_bytes=8 * 1024 * 1024)
async def rent_pod(request: Request, body: PodCreation) -> Pod:
    return await call_provider(request, create_pod, body)


# These are before the addresses of single pods: the first one that fits answers.


@router.get("/pods/history", "List terminated pods")
async def list_history(request: Request, query: PastPodQuery) -> PastPage:
    return await call_provider(request, pods.list_past, query)


@router.get("/pods/status", "Get the status of pods")
async def list_states(request: Request, query: PodStateQuery) -> PodStates:
    return await call_provider(request, pods.list_states, query.pod_ids)


@router.post("/pods/sweep", "Find and terminate orphaned and expired pods and disks")
async def sweep_leaks(request: Request, body: Sweep) -> Swept:
    return await call_provider(request, collect_garbage, dry_run=body.dry_run)


@router.get(_POD, "Show a pod")
async def show_pod(request: Request) -> Pod:
    return await call_provider(request, pods.get_pod, request.path_params["id"])


@router.get(_POD + "/log", "Get the log of a pod")
async def show_log(request: Request, query: PodLogQuery) -> PodLog:
    pod_id = request.path_params["id"]
    return await call_provider(request, pods.read_log, pod_id, lines=query.tail)


@router.get(_POD + "/endable", "Show what is needed to terminate another user's pod")
async def show_endable(request: Request) -> Endable:
    return await call_provider(request, pods.get_endable, request.path_params["id"])


@router.delete(_POD, "Terminate a pod")
async def end_pod(request: Request) -> Ended:
    return await call_provider(request, terminate, request.path_params["id"])


# --- Disks ---

_DISK = "/disks/{id}"


@router.get("/disks", "List disks")
async def list_disks(request: Request, query: PageQuery) -> DiskPage:
    return await call_provider(request, disks.list_disks, query)


@router.post("/disks", "Create a disk")
async def rent_disk(request: Request, body: DiskCreation) -> Disk:
    return await call_provider(request, disks.create_disk, body)


@router.get(_DISK, "Show a disk")
async def show_disk(request: Request) -> Disk:
    return await call_provider(request, disks.get_disk, request.path_params["id"])


@router.patch(_DISK, "Rename a disk")
async def rename_disk(request: Request, body: DiskChange) -> Disk:
    return await call_provider(request, disks.rename_disk, request.path_params["id"], body.name)


@router.delete(_DISK, "Delete a disk and all data on it")
async def terminate_disk(request: Request) -> Ended:
    return await call_provider(request, disks.terminate_disk, request.path_params["id"])
