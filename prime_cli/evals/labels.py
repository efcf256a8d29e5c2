"""What a run is known by beside its plan: tags, a note, and the commit of its code."""

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.evals.revision import Revision

_LONGEST_TAG = 64
_LONGEST_NOTE = 2000


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """Tags and a note that a person gave, and the commit that the code was at."""

    tags: tuple[str, ...] = ()
    note: str | None = None
    revision: Revision | None = None

    def over(self, before: "Labels") -> "Labels":
        """These for a run that goes on: tags add up, the first commit stays."""
        return Labels(
            tags=tuple(dict.fromkeys((*before.tags, *self.tags))),
            note=before.note if self.note is None else self.note,
            revision=before.revision or self.revision,
        )


UNLABELLED = Labels()


def check_labels(tags: tuple[str, ...], note: str | None) -> None:
    """Raise UsageError for tags and notes that nobody could read."""
    for tag in tags:
        if len(tag) > _LONGEST_TAG or not tag.isprintable():
            raise UsageError(
                f"`--tag` takes a word of at most {_LONGEST_TAG} characters, not {tag[:80]!r}"
            )
    if note is not None and len(note) > _LONGEST_NOTE:
        raise UsageError(f"`--note` takes at most {_LONGEST_NOTE:,} characters")
