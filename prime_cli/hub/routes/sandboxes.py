"""Sandboxes: the control plane of the sandbox API."""

import re
import shlex

import msgspec
from starlette.requests import Request

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.dispatch import call_provider, hub_of
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services.sandboxes import creation, egress, lifecycle, sweep
from prime_cli.wire.sandboxes import (
    EgressChange,
    EgressState,
    ErrorContext,
    Sandbox,
    SandboxAuth,
    SandboxCreation,
    SandboxDeleted,
    SandboxDeletion,
    SandboxesDeleted,
    SandboxesSwept,
    SandboxLogs,
    SandboxPage,
    SandboxPlan,
    SandboxQuery,
    SandboxStates,
    SandboxSweep,
    StartCommand,
    StatusLookup,
)

router = Router(enveloped=False, needs_key=True)

_SANDBOX = "/sandbox/{id}"
_CLIENT = re.compile(r"prime-sandboxes/(\d{1,4})\.(\d{1,4})", re.ASCII)
_OBJECTS_FROM = (0, 3)


@router.post("/sandbox", "Create a sandbox", status=201)
async def create_sandbox(request: Request, body: SandboxCreation) -> Sandbox:
    return shown_to(request, await call_provider(request, creation.create_sandbox, body))


@router.get("/sandbox", "List sandboxes")
async def list_sandboxes(request: Request, query: SandboxQuery) -> SandboxPage:
    page = await call_provider(request, lifecycle.list_sandboxes, query)
    page.sandboxes = [shown_to(request, each) for each in page.sandboxes]
    return page


@router.delete("/sandbox", "Delete sandboxes")
async def delete_sandboxes(request: Request, body: SandboxDeletion) -> SandboxesDeleted:
    return await call_provider(request, lifecycle.delete_sandboxes, body)


# These are before the addresses of single sandboxes: the first one that fits answers.


@router.post("/sandbox/status:batchGet", "Get the status of sandboxes")
async def list_states(request: Request, body: StatusLookup) -> SandboxStates:
    return await call_provider(request, lifecycle.list_states, body.sandbox_ids)


@router.post("/sandbox/plan", "Show what a sandbox would be")
async def plan_sandbox(request: Request, body: SandboxCreation) -> SandboxPlan:
    return await call_provider(request, creation.plan_sandbox, body)


@router.post("/sandbox/sweep", "Find and remove what is left of sandboxes")
async def sweep_sandboxes(request: Request, body: SandboxSweep) -> SandboxesSwept:
    return await call_provider(request, sweep.sweep_sandboxes, dry_run=body.dry_run)


@router.get("/sandbox/checkpoints", "Not here: sandboxes have no checkpoints")
@router.post("/sandbox/checkpoints:batchGet", "Not here: sandboxes have no checkpoints")
async def list_checkpoints(_request: Request) -> SandboxPage:
    raise UsageError("Sandboxes of this hub have no checkpoints")


@router.get("/sandbox/networks", "Not here: sandboxes have no networks of their own")
@router.post("/sandbox/networks", "Not here: sandboxes have no networks of their own")
async def list_networks(_request: Request) -> SandboxPage:
    raise UsageError("Sandboxes of this hub have no networks among themselves")


@router.get("/sandbox/volumes", "Not here: sandboxes have no volumes")
@router.post("/sandbox/volumes", "Not here: sandboxes have no volumes")
async def list_volumes(_request: Request) -> SandboxPage:
    raise UsageError("Sandboxes of this hub have no volumes")


@router.get(_SANDBOX, "Show a sandbox")
async def show_sandbox(request: Request) -> Sandbox:
    sandbox_id = request.path_params["id"]
    return shown_to(request, await call_provider(request, lifecycle.get_sandbox, sandbox_id))


@router.delete(_SANDBOX, "Delete a sandbox")
async def delete_sandbox(request: Request) -> SandboxDeleted:
    return await call_provider(request, lifecycle.delete_sandbox, request.path_params["id"])


@router.post(_SANDBOX + "/auth", "Get a token for the inside of a sandbox")
async def open_gateway(request: Request) -> SandboxAuth:
    base = hub_of(request).settings.public_url
    return await call_provider(request, lifecycle.open_gateway, request.path_params["id"], base)


@router.get(_SANDBOX + "/logs", "Get the log of a sandbox")
async def show_logs(request: Request) -> SandboxLogs:
    return await call_provider(request, lifecycle.read_logs, request.path_params["id"])


@router.get(_SANDBOX + "/error-context", "Explain the failure of a sandbox")
async def explain_error(request: Request) -> ErrorContext:
    return await call_provider(request, lifecycle.explain_error, request.path_params["id"])


@router.get(_SANDBOX + "/egress-policy", "Show what a sandbox can reach")
async def show_egress(request: Request) -> EgressState:
    return await call_provider(request, egress.read_egress, request.path_params["id"])


@router.put(_SANDBOX + "/egress-policy", "Change what a sandbox can reach")
async def change_egress(request: Request, body: EgressChange) -> EgressState:
    return await call_provider(request, egress.change_egress, request.path_params["id"], body)


# --- What sandboxes of our hubs do not have ---


@router.post("/sandbox/background-jobs/status:batchGet", "Not here: clients ask one by one")
async def list_jobs(_request: Request) -> SandboxStates:
    # The only answer after which clients look at the files of each job.
    raise NotFound("Jobs are looked up one by one")


_NO_PORTS = "A sandbox of this hub has no address outside: its ports cannot be exposed"
_NO_SSH = "A sandbox of this hub has no SSH server; use `prime sandbox run`"


@router.get(_SANDBOX + "/expose", "Not here: sandboxes have no address outside")
@router.post(_SANDBOX + "/expose", "Not here: sandboxes have no address outside")
async def expose_port(request: Request) -> SandboxDeleted:
    await call_provider(request, lifecycle.require_endable, request.path_params["id"])
    raise UsageError(_NO_PORTS, hint="rent a machine with `prime pods create` for a server")


@router.post(_SANDBOX + "/ssh-session", "Not here: sandboxes have no SSH server")
async def open_ssh(request: Request) -> SandboxDeleted:
    await call_provider(request, lifecycle.require_endable, request.path_params["id"])
    raise UsageError(_NO_SSH, hint="for SSH, rent a machine with `prime pods create`")


def shown_to(request: Request, sandbox: Sandbox) -> Sandbox:
    """The sandbox with its start command as the release of the client reads it.

    Whoever made the sandbox: the client before 0.3 cannot read an object, those since no text.
    """
    command = sandbox.start_command
    found = _CLIENT.search(request.headers.get("user-agent", ""))
    wants_object = found is not None and (int(found[1]), int(found[2])) >= _OBJECTS_FROM
    if isinstance(command, str) and wants_object:
        command = StartCommand("/bin/sh", ["-c", command])
    elif isinstance(command, StartCommand) and not wants_object:
        command = shlex.join([command.executable, *command.args])
    return msgspec.structs.replace(sandbox, start_command=command)
