"""The catalogue against a list in Python that is searched from end to end."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, update

from prime_cli.core.archive.source_analysis import EnvironmentKind
from prime_cli.hub.context import Caller, Hub, open_hub
from prime_cli.hub.db.tables import artifacts, environments, owners, stars, versions
from prime_cli.hub.search_index import document_words, search_words
from prime_cli.hub.services.environment_list import list_environments
from prime_cli.hub.services.versions import update_latest
from prime_cli.hub.settings import HubSettings
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import (
    EnvironmentMetadata,
    EnvironmentPage,
    EnvironmentQuery,
    SortKey,
    Visibility,
)
from prime_cli.wire.queries import SortOrder
from tests.helpers.database import database_of

OWNERS = ("ada", "bob", "team-x")
TEXTS = ("Chess", "chess-like games", "MathQuiz", "Épée 100%", "数学", "", "a b", "NEAR(x) OR *")
TAGS = ("game", "Multi-Turn", "x y", "')")
CALLER = Caller("ada", reads=frozenset({"ada", "team-x"}), writes=frozenset({"ada"}))


@dataclass(frozen=True)
class Environment:
    owner: str
    name: str
    private: bool
    description: str
    tags: tuple[str, ...]
    starred_by: frozenset[str]
    published: bool
    second: int
    downloads: int = 0
    evaluations: int = 0
    kind: str = ""
    id: str = field(default="", compare=False)


environment = st.builds(
    Environment,
    owner=st.sampled_from(OWNERS),
    name=st.sampled_from(["chess", "math-quiz", "go.2", "a_b"]),
    private=st.booleans(),
    description=st.sampled_from(TEXTS),
    tags=st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
    starred_by=st.frozensets(st.sampled_from(OWNERS)),
    published=st.sampled_from([True, True, True, False]),
    second=st.integers(0, 3),
    downloads=st.integers(0, 2),
    evaluations=st.integers(0, 2),
    kind=st.sampled_from(["", "v0", "multi-turn v1"]),
)
query = st.builds(
    EnvironmentQuery,
    owner=st.sampled_from([None, None, "ada", "bob", "nobody"]),
    visibility=st.sampled_from([None, None, *Visibility]),
    search=st.none() | st.sampled_from([*TEXTS, " ", "_", "che", "ada game", '"', "quiz* ^"]),
    tags=st.lists(st.sampled_from([*TAGS, "GAME"]), max_size=2).map(tuple),
    kind=st.none() | st.sampled_from(EnvironmentKind),
    starred_only=st.booleans(),
    mine_only=st.booleans(),
    min_stars=st.sampled_from([0, 0, 1, 2]),
    sort_by=st.sampled_from(SortKey),
    sort_order=st.sampled_from(SortOrder),
    limit=st.integers(1, 4),
)


def keep(hub: Hub, number: int, one: Environment) -> Environment:
    """Write an environment as publishing would have left it."""
    made = f"env_{number}"
    at = f"2026-01-01T00:00:0{one.second}.000000Z"
    common = {"environment_id": made, "created_at": at, "content_hash": "hash"}
    metadata = EnvironmentMetadata(description=one.description, tags=list(one.tags))
    with hub.database.write() as connection:
        connection.execute(
            insert(environments).values(
                id=made,
                owner_id=one.owner,
                name=f"{one.name}-{number}",
                normalized_name=f"{one.name}-{number}".replace(".", "-").replace("_", "-"),
                visibility="PRIVATE" if one.private else "PUBLIC",
                description="",
                index_stale=False,
                created_at=at,
                updated_at=at,
                stars=len(one.starred_by),
                downloads=one.downloads,
                evaluations=one.evaluations,
            )
        )
        for by in one.starred_by:
            connection.execute(insert(stars).values(owner_id=by, environment_id=made))
        for kind in ("wheel", "sources") if one.published else ():
            connection.execute(
                insert(artifacts).values(
                    id=f"{kind}_{number}",
                    kind=kind,
                    semantic_version="1",
                    filename="file",
                    sha256=f"{number:064}",
                    metadata=encode(metadata).decode(),
                    kinds=one.kind,
                    **common,
                )
            )
        if one.published:
            row: dict[str, Any] = {
                "id": f"sources_{number}",
                "wheel_id": f"wheel_{number}",
                **common,
            }
            row |= {"number": 1, "semantic_version": "1", "version_key": "1"}
            connection.execute(insert(versions).values(row))
            update_latest(hub, connection, made)
            connection.execute(update(environments).values(updated_at=environments.c.created_at))
    return Environment(**{**one.__dict__, "name": f"{one.name}-{number}", "id": made})


def expected(kept: list[Environment], query: EnvironmentQuery) -> list[str]:
    """The ids of all pages in their order."""
    found = [one for one in kept if _seen(one) and _fits(one, query) and _says(one, query)]
    places = sorted((_key(one, query.sort_by), one.id) for one in found)
    return [
        each for _, each in (reversed(places) if query.sort_order is SortOrder.DESC else places)
    ]


def _key(one: Environment, order: str) -> Any:
    if order == "name":
        return one.name.replace(".", "-").replace("_", "-")
    counts = {"stars": len(one.starred_by), "downloads": one.downloads}
    counts["evaluations"] = one.evaluations
    return counts.get(order, one.second)


def _seen(one: Environment) -> bool:
    return one.published and (not one.private or one.owner in CALLER.reads)


def _fits(one: Environment, query: EnvironmentQuery) -> bool:
    return (
        query.owner in (None, one.owner)
        and (not query.mine_only or one.owner in CALLER.reads)
        and (query.visibility or "").upper() in ("", "PRIVATE" if one.private else "PUBLIC")
        and len(one.starred_by) >= query.min_stars
        and (not query.starred_only or CALLER.slug in one.starred_by)
        and (
            query.kind is None
            or query.kind in one.kind.split()
            or query.kind in {tag.lower() for tag in one.tags}
        )
        and {tag.lower() for tag in query.tags} <= {tag.lower() for tag in one.tags}
    )


def _says(one: Environment, query: EnvironmentQuery) -> bool:
    if not (query.search or "").strip():
        return True
    looked_for = search_words(query.search or "")
    here = document_words([one.name, one.owner, one.description, *one.tags])
    return bool(looked_for) and all(
        any(word.startswith(each) if len(each) > 2 else word == each for word in here)
        for each in looked_for
    )


def open_empty(folder: str) -> Hub:
    """A hub that has the owners and nothing else."""
    data = Path(folder)
    hub = open_hub(HubSettings(data=data, owner="ada", database=database_of(data)))
    with hub.database.write() as connection:
        for slug in OWNERS:
            row = {"id": slug, "slug": slug, "type": "user", "created_at": ""}
            connection.execute(insert(owners).values(row))
    return hub


def ids(page: EnvironmentPage) -> list[str]:
    return [item.id for item in page.data]


def with_changes(query: EnvironmentQuery, **changes: Any) -> EnvironmentQuery:
    return msgspec.structs.replace(query, **changes)


@settings(max_examples=12, deadline=None)
@given(st.lists(environment, max_size=8), st.lists(query, min_size=1, max_size=5))
def test_pages_hold_what_a_search_from_end_to_end_finds(
    wanted: list[Environment], queries: list[EnvironmentQuery]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hub = open_empty(folder)
        kept = [keep(hub, number, one) for number, one in enumerate(wanted)]
        for each in queries:
            all_ids = expected(kept, each)
            by_offset: list[str] = []
            for offset in range(0, len(all_ids) + 1, each.limit):
                page = list_environments(hub, CALLER, with_changes(each, offset=offset))
                assert page.total_count == len(all_ids)
                by_offset += ids(page)
            assert by_offset == all_ids
            page = list_environments(hub, CALLER, each)
            by_cursor = ids(page)
            while page.next_cursor:
                page = list_environments(hub, CALLER, with_changes(each, cursor=page.next_cursor))
                by_cursor += ids(page)
            assert by_cursor == all_ids


@settings(max_examples=6, deadline=None)
@given(
    st.lists(environment, min_size=4, max_size=6),
    st.lists(environment, min_size=1, max_size=3),
    query,
)
def test_cursor_gives_all_that_was_there_once_while_more_is_added(
    before: list[Environment], later: list[Environment], query: EnvironmentQuery
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hub = open_empty(folder)
        kept = [keep(hub, number, one) for number, one in enumerate(before)]
        page = list_environments(hub, CALLER, query)
        seen = ids(page)
        added = iter(enumerate(later, len(before)))
        while page.next_cursor:
            if following := next(added, None):
                keep(hub, *following)
            page = list_environments(hub, CALLER, with_changes(query, cursor=page.next_cursor))
            seen += ids(page)
    assert len(seen) == len(set(seen))
    there = expected(kept, query)
    assert [each for each in seen if each in there] == there
