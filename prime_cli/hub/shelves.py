"""Shelves: all listed environments of one visibility, of one owner or of everybody.

What a caller may see is always some whole shelves that have nothing in common. So one total is the
sum of a few tallies, one page is merged from a few walks along an index, and a search asks for
environments that stand on any of them.
"""

from dataclasses import dataclass
from hashlib import blake2s

from sqlalchemy import ColumnElement, and_

from prime_cli.hub.db.tables import environments


@dataclass(frozen=True)
class Shelf:
    """Listed environments of a visibility; `owner_id` None means those of everybody."""

    visibility: str
    owner_id: str | None = None

    @property
    def token(self) -> str:
        """What stands for the shelf in `listed` and `tallies`."""
        return _token("shelf", f"{self.visibility} {self.owner_id or ''}")

    @property
    def holds(self) -> ColumnElement[bool]:
        """The condition under which an environment stands on the shelf."""
        listed = environments.c.latest_version_id.is_not(None)
        mine = environments.c.visibility == self.visibility
        if self.owner_id is None:
            return and_(listed, mine)
        return and_(listed, mine, environments.c.owner_id == self.owner_id)


def tag_token(tag: str) -> str:
    """What stands for a tag in `listed`; tags are compared in lower case."""
    return _token("tag", tag.lower())


def _token(kind: str, text: str) -> str:
    """Lower-case ASCII that no word can be, whatever the text has in it."""
    return f"={kind}={blake2s(text.encode(), digest_size=8).hexdigest()}"
