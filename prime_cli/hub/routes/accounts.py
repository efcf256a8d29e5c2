"""The caller's account: teams, API keys and SSH keys."""

from starlette.requests import Request
from starlette.responses import Response

from prime_cli import __version__
from prime_cli.hub.dispatch import call, hub_of
from prime_cli.hub.routes.operations import Number, Operation, Text
from prime_cli.hub.routes.requests import caller_of, read_json
from prime_cli.hub.routes.responses import answer, enveloped
from prime_cli.hub.services import key_management, users
from prime_cli.hub.services import teams as service
from prime_cli.hub.services.compute import ssh_keys
from prime_cli.wire.accounts import (
    Account,
    KeyList,
    KeyReply,
    KeyRequest,
    KeysRevoked,
    MemberPage,
    SlugRequest,
    TeamPage,
)
from prime_cli.wire.evaluations import FEATURE, LOGS_FEATURE
from prime_cli.wire.locks import SIGNATURES_FEATURE as SIGNATURES
from prime_cli.wire.locks import Capabilities
from prime_cli.wire.pods import FEATURE as PODS
from prime_cli.wire.ssh_keys import KeyChange, KeyChanged, KeyUpload, SshKey, SshKeyPage

# --- The account and its teams ---

_TEAM = Text("teamId", "Show the permissions of the key for this team")
_OFFSET = Number("offset", "Number of items to skip", default=0, least=0, most=2**31 - 1)
_LIMIT = Number("limit", "Maximum number of items", default=100, least=1, most=1000)


async def whoami(request: Request) -> Response:
    args = hub_of(request), caller_of(request), _TEAM.read(request)
    return enveloped(await call(request, users.whoami, *args))


async def change_slug(request: Request) -> Response:
    wanted = await read_json(request, SlugRequest)
    args = hub_of(request), caller_of(request), wanted.slug
    return enveloped(await call(request, users.change_slug, *args))


async def teams(request: Request) -> Response:
    page = await call(
        request,
        service.list_own_teams,
        hub_of(request),
        caller_of(request),
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def members(request: Request) -> Response:
    page = await call(
        request,
        service.list_members,
        hub_of(request),
        caller_of(request),
        request.path_params["team_id"],
        offset=_OFFSET.read(request),
        limit=_LIMIT.read(request),
    )
    return answer(page)


async def capabilities(request: Request) -> Response:
    settings = hub_of(request).settings
    features = [
        "locks",
        "checks",
        SIGNATURES,
        FEATURE,
        LOGS_FEATURE,
        "yank",
        "cursor",
        *(["keys"] if settings.accounts else []),
        *([PODS] if settings.providers else []),
    ]
    return answer(Capabilities(hub="prime", version=__version__, features=features))


# --- API keys ---


async def list_keys(request: Request) -> Response:
    caller = caller_of(request)
    found = await call(request, key_management.list_keys, hub_of(request), caller, caller.slug)
    return enveloped(KeyList(found))


async def create_key(request: Request) -> Response:
    wanted = await read_json(request, KeyRequest)
    caller = caller_of(request)
    made = await call(
        request,
        key_management.issue_key,
        hub_of(request),
        caller,
        caller.slug,
        name=wanted.name,
        scope=wanted.scope,
        owner=wanted.owner,
        seconds=wanted.expires_in,
    )
    return enveloped(KeyReply(made.id, made.key))


async def revoke_key(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["key_id"]
    revoked = await call(request, key_management.revoke_key, *args)
    return enveloped(KeysRevoked(revoked=len(revoked)))


# --- SSH keys ---

_SSH_KEY = "/ssh_keys/{key_id}"


async def list_ssh_keys(request: Request) -> Response:
    args = hub_of(request), caller_of(request)
    offset, limit = _OFFSET.read(request), _LIMIT.read(request)
    return answer(await call(request, ssh_keys.list_keys, *args, offset=offset, limit=limit))


async def add_ssh_key(request: Request) -> Response:
    upload = await read_json(request, KeyUpload)
    args = hub_of(request), caller_of(request), upload
    return answer(await call(request, ssh_keys.add_key, *args))


async def change_ssh_key(request: Request) -> Response:
    wanted = await read_json(request, KeyChange)
    args = hub_of(request), caller_of(request), request.path_params["key_id"], wanted
    return answer(await call(request, ssh_keys.change_key, *args))


async def remove_ssh_key(request: Request) -> Response:
    args = hub_of(request), caller_of(request), request.path_params["key_id"]
    await call(request, ssh_keys.remove_key, *args)
    return answer({"message": "SSH key removed"})


OPERATIONS = (
    Operation(
        "GET",
        "/user/whoami",
        whoami,
        "Show the current user",
        answers=Account,
        query=(_TEAM,),
        needs_key=True,
    ),
    Operation(
        "PATCH",
        "/user/slug",
        change_slug,
        "Change the caller's username",
        answers=Account,
        takes=SlugRequest,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/user/teams",
        teams,
        "List the caller's teams",
        answers=TeamPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/teams/{team_id}/members",
        members,
        "List the members of one of the caller's teams",
        answers=MemberPage,
        query=(_OFFSET, _LIMIT),
        enveloped=False,
        needs_key=True,
    ),
    Operation(
        "GET",
        "/capabilities",
        capabilities,
        "List the features of this hub beyond the public API",
        answers=Capabilities,
        enveloped=False,
    ),
    Operation(
        "GET",
        "/user/keys",
        list_keys,
        "List the caller's API keys; without the scope `admin`, only the key in use",
        answers=KeyList,
        needs_key=True,
    ),
    Operation(
        "POST",
        "/user/keys",
        create_key,
        "Create an API key; its secret is returned only once",
        answers=KeyReply,
        takes=KeyRequest,
        needs_key=True,
    ),
    Operation(
        "DELETE",
        "/user/keys/{key_id}",
        revoke_key,
        "Revoke an API key and all keys created with it; `current` is the key in use",
        answers=KeysRevoked,
        needs_key=True,
    ),
    Operation(
        "GET", "/ssh_keys", list_ssh_keys,
        "List the caller's SSH keys",
        answers=SshKeyPage, query=(_OFFSET, _LIMIT), enveloped=False, needs_key=True,
    ),
    Operation(
        "POST", "/ssh_keys", add_ssh_key,
        "Add an SSH key for the caller's pods",
        answers=SshKey, takes=KeyUpload, enveloped=False, needs_key=True,
    ),
    Operation(
        "PATCH", _SSH_KEY, change_ssh_key,
        "Set the primary SSH key",
        answers=KeyChanged, takes=KeyChange, enveloped=False, needs_key=True,
    ),
    Operation(
        "DELETE", _SSH_KEY, remove_ssh_key,
        "Remove an SSH key; running pods keep accepting it",
        answers=dict[str, str], enveloped=False, needs_key=True,
    ),
)  # fmt: skip
