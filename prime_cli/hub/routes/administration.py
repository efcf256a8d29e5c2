"""Users, teams, keys and the audit log, for admins of a hub; members, for those of a team."""

from starlette.requests import Request

from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import administration as service
from prime_cli.hub.services import quotas, takedowns
from prime_cli.wire.accounts import (
    AuditList,
    AuditQuery,
    IdentityList,
    KeyList,
    KeyQuery,
    KeysRevoked,
    MemberChange,
    NewTakedown,
    NewTeam,
    NewUser,
    Restored,
    Takedown,
    TakedownList,
    TakedownQuery,
    TeamItem,
    TeamList,
    UserCreated,
    UserList,
)
from prime_cli.wire.inference import UsageList, UsageQuery
from prime_cli.wire.quotas import NewQuota, Quota, QuotaList
from prime_cli.wire.secrets import Done

router = Router(needs_key=True)

_MEMBER = "/teams/{team_id}/members/{user}"


@router.put(_MEMBER, "Add a user to a team, or change the role")
async def set_member(request: Request, body: MemberChange) -> Done:
    return await call(request, service.set_member, *_member(request), body)


@router.delete(_MEMBER, "Remove a user from a team, or leave it")
async def remove_member(request: Request) -> Done:
    return await call(request, service.remove_member, *_member(request))


def _member(request: Request) -> tuple[str, str]:
    """The team (id or slug) and the user's slug."""
    return request.path_params["team_id"], request.path_params["user"]


# --- For admins of the hub ---


@router.get("/hub/users", "List all users (admins of the hub)")
async def list_users(request: Request) -> UserList:
    return await call(request, service.list_users)


@router.post("/hub/users", "Create a user (admins of the hub)")
async def create_user(request: Request, body: NewUser) -> UserCreated:
    return await call(request, service.create_user, body)


@router.delete("/hub/users/{user}", "Remove a user and all their keys (admins of the hub)")
async def remove_user(request: Request) -> Done:
    return await call(request, service.remove_user, request.path_params["user"])


@router.delete("/hub/users/{user}/keys", "Revoke all keys of a user (admins of the hub)")
async def revoke_all(request: Request) -> KeysRevoked:
    return await call(request, service.revoke_all, request.path_params["user"])


@router.get("/hub/teams", "List all teams (admins of the hub)")
async def list_teams(request: Request) -> TeamList:
    return await call(request, service.list_teams)


@router.post("/hub/teams", "Create a team, or add members to one (admins of the hub)")
async def add_to_team(request: Request, body: NewTeam) -> TeamItem:
    return await call(request, service.add_to_team, body)


@router.delete("/hub/teams/{team}", "Remove a team (admins of the hub)")
async def remove_team(request: Request) -> Done:
    return await call(request, service.remove_team, request.path_params["team"])


@router.get("/hub/quotas", "List what users and teams may have, and have (admins of the hub)")
async def list_quotas(request: Request) -> QuotaList:
    return await call(request, quotas.list_quotas)


@router.put("/hub/quotas", "Change what a user, a team or everybody may have (admins of the hub)")
async def set_quota(request: Request, body: NewQuota) -> Quota:
    return await call(request, quotas.set_quota, body)


@router.get("/hub/takedowns", "List what is taken down (admins of the hub)")
async def list_takedowns(request: Request) -> TakedownList:
    return await call(request, takedowns.list_takedowns)


@router.post(
    "/hub/takedowns",
    "Take down an environment, a version or an evaluation, or suspend a user (admins of the hub)",
)
async def take_down(request: Request, body: NewTakedown) -> Takedown:
    return await call(request, takedowns.take_down, body)


@router.delete("/hub/takedowns", "Restore what was taken down (admins of the hub)")
async def restore(request: Request, query: TakedownQuery) -> Restored:
    return await call(request, takedowns.restore, query.target)


@router.get("/hub/keys", "List the keys of all users, without the keys (admins of the hub)")
async def list_keys(request: Request, query: KeyQuery) -> KeyList:
    return await call(request, service.list_keys, query.user)


@router.get("/hub/identities", "List the identities that log users in (admins of the hub)")
async def list_identities(request: Request, query: KeyQuery) -> IdentityList:
    return await call(request, service.list_identities, query.user)


@router.get("/hub/usage", "List what all spent on the hub's models (admins of the hub)")
async def list_usage(request: Request, query: UsageQuery) -> UsageList:
    return await call(request, service.list_usage, query)


@router.get("/hub/audit", "List the newest entries of the audit log (admins of the hub)")
async def list_audit(request: Request, query: AuditQuery) -> AuditList:
    return await call(request, service.list_audit, query)
