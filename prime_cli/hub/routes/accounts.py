"""The caller's account: teams, API keys and SSH keys."""

from starlette.requests import Request

from prime_cli import __version__
from prime_cli.hub.dispatch import call, caller_of, hub_of
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import identities, key_management, users
from prime_cli.hub.services import teams as service
from prime_cli.hub.services.compute import access
from prime_cli.hub.services.quotas import list_own_quotas
from prime_cli.wire.accounts import (
    GOVERN_FEATURE,
    IDENTITIES_FEATURE,
    Account,
    AccountQuery,
    IdentityList,
    KeyList,
    KeyReply,
    KeyRequest,
    KeysRevoked,
    MemberPage,
    SlugRequest,
    TeamPage,
)
from prime_cli.wire.environments import EnvironmentQuery
from prime_cli.wire.evaluations import FEATURE, LOGS_FEATURE
from prime_cli.wire.invitations import INVITE_FEATURE
from prime_cli.wire.locks import Capabilities
from prime_cli.wire.pods import FEATURE as PODS
from prime_cli.wire.publishers import PUBLISHERS_FEATURE
from prime_cli.wire.queries import PageQuery, features_of
from prime_cli.wire.quotas import QuotaList
from prime_cli.wire.sandboxes import FEATURE as SANDBOXES
from prime_cli.wire.secrets import Done
from prime_cli.wire.ssh_keys import KeyChange, KeyChanged, KeyUpload, SshKey, SshKeyPage
from prime_cli.wire.version_documents import DOCUMENT_KINDS

router = Router(needs_key=True)

_OF_ACCOUNTS = ("keys", GOVERN_FEATURE, INVITE_FEATURE, IDENTITIES_FEATURE)

# --- The account and its teams ---


@router.get("/user/whoami", "Show the current user")
async def whoami(request: Request, query: AccountQuery) -> Account:
    return await call(request, users.whoami, query.team_id)


@router.patch("/user/slug", "Change the caller's username")
async def change_slug(request: Request, body: SlugRequest) -> Account:
    return await call(request, users.change_slug, body.slug)


@router.get("/user/teams", "List the caller's teams", enveloped=False)
async def teams(request: Request, query: PageQuery) -> TeamPage:
    return await call(request, service.list_own_teams, query)


@router.get("/user/quotas", "List what the caller and its teams may have, and have")
async def list_quotas(request: Request) -> QuotaList:
    return await call(request, list_own_quotas)


@router.get(
    "/teams/{team_id}/members", "List the members of one of the caller's teams", enveloped=False
)
async def members(request: Request, query: PageQuery) -> MemberPage:
    return await call(request, service.list_members, request.path_params["team_id"], query)


@router.get(
    "/capabilities",
    "List the features of this hub beyond the public API",
    enveloped=False,
    needs_key=False,
)
async def capabilities(request: Request) -> Capabilities:
    settings = hub_of(request).settings
    features = [
        *(kind.feature for kind in DOCUMENT_KINDS),
        FEATURE,
        LOGS_FEATURE,
        "yank",
        "star",
        "open-secrets",
        "cursor",
        *features_of(EnvironmentQuery),
        *(_OF_ACCOUNTS if settings.accounts else []),
        *([PODS] if settings.providers else []),
        *([SANDBOXES] if settings.sandboxes is not None else []),
        *([PUBLISHERS_FEATURE] if settings.publisher_issuers else []),
    ]
    return Capabilities(hub="prime", version=__version__, features=features)


# --- API keys ---


@router.get(
    "/user/keys", "List the caller's API keys; without the scope `admin`, only the key in use"
)
async def list_keys(request: Request) -> KeyList:
    return KeyList(await call(request, key_management.list_keys, caller_of(request).slug))


@router.post("/user/keys", "Create an API key; its secret is returned only once")
async def create_key(request: Request, body: KeyRequest) -> KeyReply:
    made = await call(
        request,
        key_management.issue_key,
        caller_of(request).slug,
        name=body.name,
        scope=body.scope,
        owner=body.owner,
        seconds=body.expires_in,
    )
    return KeyReply(made.id, made.key)


@router.delete(
    "/user/keys/{key_id}",
    "Revoke an API key and all keys created with it; `current` is the key in use",
)
async def revoke_key(request: Request) -> KeysRevoked:
    revoked = await call(request, key_management.revoke_key, request.path_params["key_id"])
    return KeysRevoked(revoked=len(revoked), keys=revoked)


# --- Identities of a provider ---


@router.get("/user/identities", "List the identities of a provider that log the caller in")
async def list_identities(request: Request) -> IdentityList:
    return await call(request, identities.list_identities, caller_of(request).slug)


@router.delete(
    "/user/identities/{identity_id}", "Unlink an identity, so that it logs nobody in any more"
)
async def unlink_identity(request: Request) -> Done:
    return await call(request, identities.unlink_identity, request.path_params["identity_id"])


# --- SSH keys ---

_SSH_KEY = "/ssh_keys/{key_id}"


@router.get("/ssh_keys", "List the caller's SSH keys", enveloped=False)
async def list_ssh_keys(request: Request, query: PageQuery) -> SshKeyPage:
    return await call(request, access.list_keys, query)


@router.post("/ssh_keys", "Add an SSH key for the caller's pods", enveloped=False)
async def add_ssh_key(request: Request, body: KeyUpload) -> SshKey:
    return await call(request, access.add_key, body)


@router.patch(_SSH_KEY, "Set the primary SSH key", enveloped=False)
async def change_ssh_key(request: Request, body: KeyChange) -> KeyChanged:
    return await call(request, access.change_key, request.path_params["key_id"], body)


@router.delete(_SSH_KEY, "Remove an SSH key; running pods keep accepting it", enveloped=False)
async def remove_ssh_key(request: Request) -> dict[str, str]:
    await call(request, access.remove_key, request.path_params["key_id"])
    return {"message": "SSH key removed"}
