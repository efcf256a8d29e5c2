"""Pages for admins of a hub: users, storage, audit log and load."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from msgspec import structs
from starlette.requests import Request

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.dispatch import call, caller_of, hub_of, run
from prime_cli.hub.routes.pages.signed_in import (
    AUDIT_PAGE,
    LOAD_PAGE,
    STORAGE_PAGE,
    USERS_PAGE,
    form_of,
    page_of,
)
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import administration, quotas, takedowns
from prime_cli.hub.services.teams import list_team_page
from prime_cli.hub.services.users import list_user_page, require_admin
from prime_cli.pages.administration import (
    ENTRIES,
    NAMED,
    OWNERS,
    TEAMS,
    USERS,
    AuditLog,
    Load,
    RouteLoad,
    TeamLine,
    User,
    Users,
    audit_page,
    load_page,
    storage_page,
    users_page,
)
from prime_cli.pages.paging import parse_cursor
from prime_cli.pages.templates import Page
from prime_cli.wire.accounts import AuditQuery, NewTakedown, NewUser, UserCreated
from prime_cli.wire.quotas import QUOTA_KINDS, NewQuota, parse_quota

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

router = Router()

_ENTRIES = 100

# --- Users ---


@page_of(router, USERS_PAGE)
async def users(request: Request) -> Page:
    """All users with why they are suspended, and all teams."""
    return users_page(await _users(request))


async def _users(request: Request, created: UserCreated | None = None) -> Users:
    given = request.query_params
    place, of_teams = parse_cursor(given), parse_cursor(given, "teams")
    asked, asked_teams = place.query(USERS.rows), of_teams.query(TEAMS.rows)
    found, total = await call(request, list_user_page, asked)
    teams, team_total = await call(request, list_team_page, asked_teams, NAMED)
    return Users(
        USERS.part([User(*each) for each in found], asked.offset, total, place, USERS_PAGE),
        TEAMS.part(
            [TeamLine.of(*each) for each in teams],
            asked_teams.offset,
            team_total,
            of_teams,
            USERS_PAGE,
            "teams",
        ),
        created,
    )


@form_of(router, USERS_PAGE, "slug", "name", "email", "admin", "with_key", back=users)
async def create_user(request: Request, form: dict[str, str]) -> Page:
    """A new user; only this answer shows the key."""
    new = NewUser(
        slug=form.get("slug", "").strip(),
        name=form.get("name", "").strip(),
        email=form.get("email", "").strip() or None,
        admin="admin" in form,
        with_key="with_key" in form,
    )
    return users_page(await _users(request, await call(request, administration.create_user, new)))


@form_of(router, f"{USERS_PAGE}/{{user}}/suspend", "reason", back=users)
async def suspend(request: Request, form: dict[str, str]) -> str:
    """Suspend a user, whose keys then open nothing."""
    new = NewTakedown(request.path_params["user"], form.get("reason", ""))
    await call(request, takedowns.take_down, new)
    return USERS_PAGE


@form_of(router, f"{USERS_PAGE}/{{user}}/restore", back=users)
async def restore(request: Request, _form: dict[str, str]) -> str:
    """Let a suspended user in again."""
    await call(request, takedowns.restore, request.path_params["user"])
    return USERS_PAGE


@form_of(router, f"{USERS_PAGE}/{{user}}/revoke", back=users)
async def revoke_keys(request: Request, _form: dict[str, str]) -> str:
    """Revoke all keys of a user."""
    await call(request, administration.revoke_all, request.path_params["user"])
    return USERS_PAGE


# --- Storage and quotas ---


@page_of(router, STORAGE_PAGE)
async def storage(request: Request) -> Page:
    """What all have and may have."""
    place = parse_cursor(request.query_params)
    asked = place.query(OWNERS.rows)
    found, total = await call(request, quotas.list_quota_page, asked)
    return storage_page(OWNERS.part(found, asked.offset, total, place, STORAGE_PAGE))


@form_of(router, STORAGE_PAGE, "owner", "kind", "most", back=storage)
async def set_quota(request: Request, form: dict[str, str]) -> str:
    """Change one quota of an owner, or of everybody; without a number it is as for all."""
    kind, most = form.get("kind", ""), form.get("most", "").strip()
    if kind not in QUOTA_KINDS:
        raise UsageError(f"`{kind[:80]}` is not a quota")
    new = NewQuota(owner=form.get("owner"))
    if most and most != "default":
        setattr(new, kind, parse_quota(kind, most))
    else:
        new.reset = [kind]
    await call(request, quotas.set_quota, new)
    return STORAGE_PAGE


# --- The audit log ---


@page_of(router, AUDIT_PAGE)
async def audit(request: Request) -> Page:
    """Entries of the log from the newest, or from a place in it, by user and action."""
    given = request.query_params
    query = AuditQuery(
        user=given.get("user") or None,
        action=given.get("action") or None,
        target=given.get("target") or None,
        limit=_ENTRIES,
    )
    before = given.get("before", "")
    place = int(before[:18]) if before.isdecimal() else None
    entries, older = await call(request, administration.list_audit_page, query, place)
    shown = ENTRIES.window(entries)
    if shown.left_out:
        # For the place of the last one that there is room for.
        fewer = structs.replace(query, limit=len(shown.shown))
        _, older = await call(request, administration.list_audit_page, fewer, place)
    link = None
    if older is not None:
        filters = {"user": query.user, "action": query.action, "target": query.target}
        kept = {name: value for name, value in filters.items() if value}
        link = f"{AUDIT_PAGE}?{urlencode({**kept, 'before': older})}"
    return audit_page(AuditLog(shown, query, link))


# --- Load ---


@page_of(router, LOAD_PAGE)
async def load(request: Request) -> Page:
    """What `/metrics` has, for people."""
    require_admin(caller_of(request))
    render: Callable[[], bytes] | None = getattr(request.app.state, "metrics", None)
    if render is None:
        raise NotFound("This hub has no counters", hint="only `prime hub serve` does")
    return load_page(_read(await run(hub_of(request), _families, render)))


def _families(render: Callable[[], bytes]) -> "list[Metric]":
    from prometheus_client.parser import text_string_to_metric_families

    return list(text_string_to_metric_families(render().decode()))


_NUMBERS = {
    "prime_hub_sent_bytes": "Bytes sent",
    "prime_hub_received_bytes": "Bytes received",
    "prime_hub_uploads_in_flight": "Uploads under way",
    "prime_hub_publishes": "Versions published",
    "prime_hub_database_errors": "Failures of the database",
    "prime_hub_model_calls": "Calls to models",
    "prime_hub_model_tokens": "Tokens of models",
}
_SERVER_ERROR = "5"


def _read(families: "Iterable[Metric]") -> Load:
    """The sums since the hub was started."""
    answers: dict[str, float] = defaultdict(float)
    errors: dict[str, float] = defaultdict(float)
    seconds: dict[str, float] = defaultdict(float)
    numbers: dict[str, float] = defaultdict(float)
    for family in families:
        for sample in family.samples:
            route = sample.labels.get("route", "")
            if sample.name == "prime_hub_requests_total":
                answers[route] += sample.value
                failed = sample.labels["status"].startswith(_SERVER_ERROR)
                errors[route] += sample.value if failed else 0
            elif sample.name == "prime_hub_request_seconds_sum":
                seconds[route] += sample.value
            elif family.name in _NUMBERS and not sample.name.endswith("_created"):
                numbers[_NUMBERS[family.name]] += sample.value
    found = [
        RouteLoad(route, int(count), int(errors[route]), 1000 * seconds[route] / count)
        for route, count in answers.items()
        if count
    ]
    found.sort(key=lambda each: -each.answers)
    return Load(found, sorted(numbers.items()))
