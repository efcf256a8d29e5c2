"""The search index: the words of a text, and the rows of `listed` and `tallies`."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2s
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    insert,
    select,
    text,
    update,
)

from prime_cli.hub.db.tables import environments, listed, owners, tags, tallies

# --- Words ---
# Two texts have a word in common whatever their case, accents and width of letters. A word is a run
# of letters and digits; `-`, `_`, `.` and all other characters only separate. Chinese and Japanese,
# which are written without spaces, are taken a character at a time.

LONGEST = 40
"""Characters after which a word is cut off, in texts and searches alike."""

_MOST = 1000
_RUN = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ONE_BY_ONE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def search_words(text: str) -> list[str]:
    """The words to look for, each once, in their order; none for a text without letters."""
    return list(dict.fromkeys(_fold(text)))


def document_words(texts: Iterable[str]) -> list[str]:
    """The words under which texts are found, each once: at most the first 1,000.

    The parts of a word in camel case count as words too: `MathQuiz` is found by `quiz`.
    """
    found: dict[str, None] = {}
    for each in texts:
        parted = _HUMP.sub(" ", each)
        for word in (*_fold(each), *(() if parted == each else _fold(parted))):
            if len(found) == _MOST:
                return list(found)
            found[word] = None
    return list(found)


def _fold(text: str) -> Iterator[str]:
    if text.isascii():
        yield from (run[:LONGEST] for run in _RUN.findall(text.lower()))
        return
    plain = unicodedata.normalize("NFKD", text).casefold()
    # Once more: what casefold makes of some letters has accents again.
    letters = unicodedata.normalize("NFKD", plain)
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    for run in _RUN.findall(bare):
        for part in _ONE_BY_ONE.sub(r" \g<0> ", run).split():
            yield part[:LONGEST]


# --- Visibility sets ---
# What a caller may see is always the union of a few disjoint sets. So one total is the sum of a few
# tallies, one page is merged from a few walks along an index, and a search asks for environments in
# any of these sets.


class VisibilitySet(Struct, frozen=True):
    """Listed environments of a visibility; `owner_id` None means those of everybody."""

    visibility: str
    owner_id: str | None = None

    @property
    def token(self) -> str:
        """The token of the set in `listed` and `tallies`."""
        return _token("shelf", f"{self.visibility} {self.owner_id or ''}")

    @property
    def holds(self) -> ColumnElement[bool]:
        """The condition under which an environment is in the set."""
        listed = environments.c.latest_version_id.is_not(None)
        mine = environments.c.visibility == self.visibility
        if self.owner_id is None:
            return and_(listed, mine)
        return and_(listed, mine, environments.c.owner_id == self.owner_id)


def tag_token(tag: str) -> str:
    """What stands for a tag in `listed`; tags are compared in lower case."""
    return _token("tag", tag.lower())


def kind_token(kind: str) -> str:
    """What stands in `listed` for a kind that an environment's code shows."""
    return _token("kind", kind)


def _token(kind: str, text: str) -> str:
    """Lower-case ASCII that no word can be, whatever the text has in it."""
    return f"={kind}={blake2s(text.encode(), digest_size=8).hexdigest()}"


# --- Index rows ---
# Whoever changes a name, an owner, the visibility, the newest version, the kinds or the tags of an
# environment calls `reindex` in the same transaction.

_BATCH = 2000

_COUNT = text(
    "INSERT INTO tallies (token, count) VALUES (:token, :change) "
    "ON CONFLICT (token) DO UPDATE SET count = tallies.count + :change"
)


def reindex(connection: Connection, environment_id: str) -> None:
    """Show an environment as it is now, or not at all while it has no version."""
    shown = connection.execute(
        _select_shown().where(environments.c.id == environment_id)
    ).one_or_none()
    known = connection.execute(
        select(listed.c.number, listed.c.tokens).where(listed.c.environment_id == environment_id)
    ).one_or_none()
    before = set(known.tokens) if known else set()
    after = _tokens(shown, _tags_of(connection, [environment_id])) if shown else []
    if known and not shown:
        connection.execute(delete(listed).where(listed.c.number == known.number))
    elif known and before != set(after):
        connection.execute(
            update(listed).where(listed.c.number == known.number).values(tokens=after)
        )
    elif shown and not known:
        connection.execute(insert(listed).values(environment_id=environment_id, tokens=after))
    _count(connection, added=set(after) - before, removed=before - set(after))


def reindex_owner(connection: Connection, owner_id: str) -> None:
    """Show all environments of an owner as they are now."""
    theirs = select(environments.c.id).where(environments.c.owner_id == owner_id)
    for environment_id in connection.execute(theirs).scalars().all():
        reindex(connection, environment_id)


def reindex_all(connection: Connection) -> None:
    """Fill the empty tables with all that is published, oldest first."""
    counts: Counter[str] = Counter()
    oldest_first = _select_shown().order_by(environments.c.created_at, environments.c.id)
    rows = connection.execute(oldest_first, execution_options={"yield_per": _BATCH})
    for batch in rows.partitions():
        by_id = _tags_of(connection, [row.id for row in batch])
        found = [{"environment_id": row.id, "tokens": _tokens(row, by_id)} for row in batch]
        connection.execute(insert(listed), found)
        counts.update(token for row in found for token in row["tokens"])
    if counts:
        totals = [{"token": token, "count": count} for token, count in sorted(counts.items())]
        connection.execute(insert(tallies), totals)


def _select_shown() -> Select[Any]:
    return (
        select(
            environments.c.id,
            environments.c.name,
            environments.c.owner_id,
            environments.c.visibility,
            environments.c.description,
            environments.c.kinds,
            owners.c.slug,
        )
        .join(owners, environments.c.owner_id == owners.c.id)
        .where(environments.c.latest_version_id.is_not(None))
    )


def _tags_of(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    by_id: dict[str, list[str]] = {}
    rows = select(tags).where(tags.c.environment_id.in_(ids)).order_by(tags.c.tag)
    for row in connection.execute(rows):
        by_id.setdefault(row.environment_id, []).append(row.tag)
    return by_id


def _tokens(row: Row[Any], tags_by_id: dict[str, list[str]]) -> list[str]:
    """The sets that an environment is in, its tags, and the words that it is found by."""
    named = tags_by_id.get(row.id, [])
    sets = VisibilitySet(row.visibility), VisibilitySet(row.visibility, row.owner_id)
    words = document_words([row.name, row.slug, *named, row.description])
    kinds = map(kind_token, row.kinds.split())
    return [*(each.token for each in sets), *kinds, *(tag_token(tag) for tag in named), *words]


def _count(connection: Connection, *, added: Iterable[str], removed: Iterable[str]) -> None:
    # Sorted, so that two writers could never wait for each other's rows.
    changes = [{"token": token, "change": 1} for token in added]
    changes += [{"token": token, "change": -1} for token in removed]
    if changes:
        connection.execute(_COUNT, sorted(changes, key=lambda change: str(change["token"])))
