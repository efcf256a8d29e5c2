"""Trusted publishers: which CI jobs may publish what, and the keys that they get for it."""

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Caller, Hub, timestamp
from prime_cli.hub.db.tables import owners, publishers, used_tokens
from prime_cli.hub.identity.issuers import Issuers, check_job_token, read_issuer
from prime_cli.hub.services.access import suspension
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import WRITE, create_key
from prime_cli.hub.services.logins import few_failures, network_of
from prime_cli.hub.services.users import require_accounts
from prime_cli.hub.tokens import new_id, token_digest
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.publishers import (
    ALL_ENVIRONMENTS,
    GITHUB,
    GITLAB,
    MintedKey,
    MintRequest,
    NewPublisher,
    Publisher,
    PublisherList,
    PublisherQuery,
)
from prime_cli.wire.secrets import Done

KEY_SECONDS = 15 * 60
MOST_FAILURES = 20
"""Refused tokens from one address in ten minutes."""
_MOST_CLAIMS = 20
_MOST_STARS = 4
_LONGEST = 500

_CLAIM = re.compile(r"[A-Za-z0-9_:./-]{1,100}")
_OF_EVERY_TOKEN = frozenset({"iss", "aud", "exp", "iat", "nbf", "jti"})
_IDENTIFIES = {
    GITHUB: ("repository", "repository_id"),
    GITLAB: ("project_path", "project_id"),
}
"""Issuers that sign for strangers, with the claims of which one must be named in full."""
_PINNED = {
    GITHUB: ("repository_id", "repository_owner_id"),
    GITLAB: ("project_id", "namespace_id"),
}
_WITHOUT_CASE = frozenset({"repository", "repository_owner", "project_path", "workflow_ref"})
_SHOWN = (
    *("repository", "workflow_ref", "ref", "environment", "event_name"),
    *("project_path", "ref_type", "pipeline_source", "sub"),
)


# --- For owners ---


def add_publisher(hub: Hub, caller: Caller, new: NewPublisher) -> Publisher:
    """Trust jobs with those claims; for the owner, or an admin of the team.

    Raises NotAllowed, Conflict for one that is there, UsageError for an issuer that the hub's admin
    has not named, and for claims that strangers have too.
    """
    require_accounts(hub)
    _check_issuer(hub, new.issuer)
    _check_claims(new)
    environment = new.environment
    if environment != ALL_ENVIRONMENTS:
        environment = normalize_name(EnvRef.parse(f"{new.owner}/{environment}").name)
    with hub.database.write() as connection:
        owner = _find_managed(connection, caller, new.owner)
        claims = encode(dict(sorted(new.claims.items()))).decode()
        values = {"environment": environment, "issuer": new.issuer, "claims": claims}
        same = [publishers.c[name] == value for name, value in values.items()]
        if connection.execute(_select().where(owners.c.id == owner.id, *same)).first() is not None:
            raise Conflict("This publisher is trusted already")
        made = new_id("pub")
        connection.execute(
            insert(publishers).values(
                id=made,
                owner_id=owner.id,
                pinned="{}",
                created_by=caller.slug,
                created_at=hub.now(),
                **values,
            )
        )
        detail = {"publisher": made, "issuer": new.issuer, "claims": new.claims}
        record(hub, connection, caller, "publisher.add", f"{owner.slug}/{environment}", **detail)
        return _item(connection.execute(_select().where(publishers.c.id == made)).one())


def list_publishers(hub: Hub, caller: Caller, query: PublisherQuery) -> PublisherList:
    """Those of the owners that the caller manages, newest first."""
    wanted = _select().where(owners.c.slug.in_(caller.manages))
    if query.owner is not None:
        wanted = wanted.where(owners.c.slug == query.owner)
    if query.environment is not None:
        name = query.environment
        name = name if name == ALL_ENVIRONMENTS else normalize_name(name)
        wanted = wanted.where(publishers.c.environment == name)
    order = (publishers.c.created_at.desc(), publishers.c.id)
    with hub.database.read() as connection:
        if query.owner is not None:
            _find_managed(connection, caller, query.owner)
        rows = connection.execute(wanted.order_by(*order)).all()
    return PublisherList([_item(row) for row in rows])


def remove_publisher(hub: Hub, caller: Caller, publisher_id: str) -> Done:
    """Trust it no longer; keys that it got end within 15 minutes. Raises NotFound."""
    with hub.database.write() as connection:
        mine = owners.c.slug.in_(caller.manages)
        row = connection.execute(
            _select().where(publishers.c.id == publisher_id, mine)
        ).one_or_none()
        if row is None:
            raise NotFound(
                f"Publisher `{publisher_id[:80]}` not found",
                hint="list them with `prime env publisher list`",
            )
        connection.execute(delete(publishers).where(publishers.c.id == row.id))
        target = f"{row.owner}/{row.environment}"
        record(hub, connection, caller, "publisher.remove", target, publisher=row.id)
    return Done()


# --- For CI jobs ---


def mint_key(hub: Hub, caller: Caller, issuers: Issuers | None, request: MintRequest) -> MintedKey:
    """A key for the job whose token it is; each token is good for one.

    Raises NotAllowed for a token that is not valid, was used, or that no publisher of that
    environment matches; Conflict where publishers of several owners do; RateLimited, Unreachable.
    """
    require_accounts(hub)
    place = f"mint from {network_of(caller.address)}"
    with few_failures(hub, place, most=MOST_FAILURES):
        issuer = read_issuer(request.token)
        if issuers is None or issuer not in hub.settings.publisher_issuers:
            raise NotAllowed(
                f"This hub accepts no tokens from `{issuer[:200]}`",
                hint="its admin names issuers with `--publisher-issuers`",
            )
        rows = _candidates(hub, issuer, request)
        if not rows:
            raise _no_publisher(request, {})
        claims = check_job_token(issuers, request.token, issuer, hub.settings.public_url)
        rows = [row for row in rows if _matches(row, claims)]
        if not rows:
            raise _no_publisher(request, claims)
        if len({row.owner for row in rows}) > 1:
            found = " and ".join(f"`{slug}`" for slug in sorted({row.owner for row in rows}))
            raise Conflict(f"{found} both trust this job", hint="choose one with `--owner`")
        # The narrowest: that of the environment before that of all.
        row = min(rows, key=lambda each: (each.environment == ALL_ENVIRONMENTS, each.id))
        return _mint(hub, caller, row, claims)


def _candidates(hub: Hub, issuer: str, request: MintRequest) -> list[Row[Any]]:
    names = (normalize_name(request.environment), ALL_ENVIRONMENTS)
    wanted = _select().where(publishers.c.issuer == issuer, publishers.c.environment.in_(names))
    if request.owner is not None:
        wanted = wanted.where((owners.c.slug == request.owner) | (owners.c.id == request.owner))
    with hub.database.read() as connection:
        return list(connection.execute(wanted).all())


def _mint(hub: Hub, caller: Caller, row: Row[Any], claims: dict[str, Any]) -> MintedKey:
    """The key is one of the owner itself: it does not end when whoever added the publisher goes."""
    actor = Caller(row.owner, address=caller.address)
    with hub.database.write() as connection:
        known = select(publishers.c.id).where(publishers.c.id == row.id)
        if connection.execute(known).first() is None:
            raise NotAllowed("This publisher was just removed")
        if row.suspended is not None:
            raise suspension(row.suspended)
        _use_up(hub, connection, claims)
        pinned = _values(claims, _PINNED.get(row.issuer, ()))
        connection.execute(
            update(publishers)
            .where(publishers.c.id == row.id)
            .values(pinned=encode(pinned).decode(), last_used_at=hub.now())
        )
        shown = _values(claims, _SHOWN)
        made = create_key(
            hub,
            connection,
            row.owner_id,
            name=f"CI job of {next(iter(shown.values()), 'a publisher')}"[:100],
            scope=WRITE,
            only_owner_id=row.owner_id,
            publishes=row.environment,
            seconds=KEY_SECONDS,
        )
        detail = {"publisher": row.id, "key": made.id, "issuer": row.issuer, "claims": shown}
        target = f"{row.owner}/{row.environment}"
        record(hub, connection, actor, "publisher.mint", target, **detail)
    ends = hub.after(KEY_SECONDS)
    return MintedKey(made.key, made.id, row.owner, row.environment, row.id, ends)


def _use_up(hub: Hub, connection: Connection, claims: dict[str, Any]) -> None:
    """Raise NotAllowed for a token that was used before."""
    digest = token_digest(f"{claims['iss']} {claims['jti']}")
    connection.execute(delete(used_tokens).where(used_tokens.c.expires_at < hub.after(-60)))
    if connection.execute(select(used_tokens).where(used_tokens.c.sha256 == digest)).first():
        raise NotAllowed("The token was refused: it was used before", hint=_AGAIN)
    ends = timestamp(datetime.fromtimestamp(claims["exp"], UTC))
    connection.execute(insert(used_tokens).values(sha256=digest, expires_at=ends))


_AGAIN = "each job needs a token of its own: run the job again"


# --- Claims ---


def _matches(row: Row[Any], claims: dict[str, Any]) -> bool:
    wanted = decode(row.claims.encode(), dict[str, str])
    pinned = decode(row.pinned.encode(), dict[str, str])
    return all(
        _is_like(name, pattern, _text(claims.get(name))) for name, pattern in wanted.items()
    ) and all(_text(claims.get(name)) == value for name, value in pinned.items())


def _is_like(name: str, pattern: str, value: str | None) -> bool:
    if value is None or len(value) > _LONGEST:
        return False
    if name in _WITHOUT_CASE:
        pattern, value = pattern.casefold(), value.casefold()
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), value, re.DOTALL) is not None


def _text(value: object) -> str | None:
    """A claim as text; None for what is no single value."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else None


def _values(claims: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    found = {name: _text(claims.get(name)) for name in names}
    return {name: value[:_LONGEST] for name, value in found.items() if value is not None}


def _check_issuer(hub: Hub, issuer: str) -> None:
    if issuer not in hub.settings.publisher_issuers:
        known = ", ".join(sorted(hub.settings.publisher_issuers)) or "none"
        raise UsageError(
            f"This hub accepts no tokens from `{issuer[:200]}`",
            hint=f"it accepts those from: {known}; its admin adds more with `--publisher-issuers`",
        )


def _check_claims(new: NewPublisher) -> None:
    if not 0 < len(new.claims) <= _MOST_CLAIMS:
        raise UsageError(f"A publisher needs 1 to {_MOST_CLAIMS} claims")
    for name, pattern in new.claims.items():
        if not _CLAIM.fullmatch(name) or name in _OF_EVERY_TOKEN:
            raise UsageError(f"`{name[:80]}` is not a claim that tells jobs apart")
        if not 0 < len(pattern) <= _LONGEST or pattern.count("*") > _MOST_STARS:
            raise UsageError(
                f"The claim `{name}` needs 1 to {_LONGEST} characters, at most {_MOST_STARS} of "
                "them `*`"
            )
    exact = {name for name, pattern in new.claims.items() if "*" not in pattern}
    needed = _IDENTIFIES.get(new.issuer)
    if needed is None and not exact:
        raise UsageError("At least one claim must be given in full, without `*`")
    if needed is not None and exact.isdisjoint(needed):
        raise UsageError(
            f"{new.issuer} signs tokens for everybody: the claim `{needed[0]}` must be given in "
            "full, without `*`"
        )


def _no_publisher(request: MintRequest, claims: dict[str, Any]) -> NotAllowed:
    named = f"{request.owner}/{request.environment}" if request.owner else request.environment
    shown = ", ".join(f"{name} {value}" for name, value in _values(claims, _SHOWN).items())
    return NotAllowed(
        f"No trusted publisher of `{named[:150]}` matches this job"
        + (f" ({shown[:1000]})" if shown else ""),
        hint="its owner adds one with `prime env publisher add`",
    )


# --- Rows ---


def _find_managed(connection: Connection, caller: Caller, slug: str) -> Row[Any]:
    """The row of an owner that the caller manages; raises NotAllowed."""
    if slug not in caller.manages:
        raise NotAllowed(
            f"This key may not manage the publishers of `{slug[:80]}`",
            hint="that needs a key with the scope `admin`, of the user or of an admin of the team",
        )
    return connection.execute(select(owners).where(owners.c.slug == slug)).one()


def _select() -> Select[Any]:
    return select(publishers, owners.c.slug.label("owner"), owners.c.suspended).join(
        owners, publishers.c.owner_id == owners.c.id
    )


def _item(row: Row[Any]) -> Publisher:
    return Publisher(
        id=row.id,
        owner=row.owner,
        environment=row.environment,
        issuer=row.issuer,
        claims=decode(row.claims.encode(), dict[str, str]),
        pinned=decode(row.pinned.encode(), dict[str, str]),
        created_by=row.created_by,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
    )
