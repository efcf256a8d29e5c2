"""Environments that nobody wrote, as rows of the hub's tables; words and tags by Zipf's law."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from prime_cli.core.refs import normalize_name
from prime_cli.hub.context import timestamp
from prime_cli.hub.settings import utc_now

VOCABULARY = 50_000
TAGS = 300
PRIVATE = 0.05
UNPUBLISHED = 0.01
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_SYLLABLES = [c + v + e for c in "bcdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s")]

_KINDS = ("single-turn v0", "multi-turn v0", "multi-turn tool-use v0", "v1", "")
Rows = dict[str, list[dict[str, Any]]]
"""The rows of some environments, by table."""


@dataclass
class World:
    """Where the rows come from; the same `seed` gives the same ones, but for the time.

    The commonest word stands in about every second description, the rarest in one of thousands.
    The first owner is `ada`; owners have as many environments as Zipf's law gives them.
    """

    count: int
    seed: int = 1
    owners: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.now = timestamp(utc_now())
        self.words = _Zipf(self.random, list(dict.fromkeys(_words(self.random, VOCABULARY))))
        self.tags = _Zipf(self.random, [f"tag-{number}" for number in range(TAGS)])
        slugs = ["ada", *(f"{word}-{n}" for n, word in enumerate(self.words.items))]
        self.owners = [
            {
                "id": f"user_{self.random.randbytes(8).hex()}",
                "slug": slug,
                "type": "user",
                "name": "",
                "admin": False,
                "created_at": self.now,
            }
            for slug in slugs[: max(2, min(self.count // 50, len(slugs)))]
        ]
        self.by_size = _Zipf(self.random, self.owners, exponent=0.6)

    def batches(self, size: int = 10_000) -> Iterator[Rows]:
        """The rows of `size` environments at a time."""
        for start in range(0, self.count, size):
            rows: Rows = {
                name: [] for name in ("environments", "artifacts", "versions", "tags", "stars")
            }
            for number in range(start, min(start + size, self.count)):
                self._add(rows, number)
            yield rows

    def _add(self, rows: Rows, number: int) -> None:
        draw = self.random
        identity = f"env_{draw.randbytes(8).hex()}"
        name = "-".join(self.words.draw(draw.randint(1, 3))) + f"-{number}"
        metadata = {
            "description": " ".join(self.words.draw(draw.randint(6, 30))),
            "tags": sorted(set(self.tags.draw(draw.randint(0, 4)))),
            "dependencies": ["verifiers>=0.1.3"],
        }
        published = draw.random() >= UNPUBLISHED
        stars = self._stars(identity) if published else []
        versions = min(5, int(draw.paretovariate(2))) if published else 0
        latest = None
        for version in range(1, versions + 1):
            latest = self._publish(rows, identity, name, version, metadata)
        rows["environments"].append(
            {
                "id": identity,
                "owner_id": self.by_size.draw(1)[0]["id"],
                "name": name,
                "normalized_name": normalize_name(name),
                "visibility": "PRIVATE" if draw.random() < PRIVATE else "PUBLIC",
                "description": metadata["description"] if published else "",
                "latest_version_id": latest,
                "stars": len(stars),
                "downloads": int(draw.paretovariate(0.6)) - 1 if published else 0,
                "evaluations": int(draw.paretovariate(1.0)) - 1 if published else 0,
                "kinds": draw.choice(_KINDS) if published else "",
                "index_stale": False,
                "created_at": self._time(number),
                "updated_at": self._time(draw.randint(number, self.count)),
            }
        )
        if published:
            rows["tags"] += [{"environment_id": identity, "tag": tag} for tag in metadata["tags"]]
            rows["stars"] += stars

    def _publish(
        self, rows: Rows, identity: str, name: str, number: int, metadata: dict[str, Any]
    ) -> str:
        """The rows of one version; gives its id."""
        content, ids = self.random.randbytes(32).hex(), {}
        for kind, prefix, suffix in (
            ("wheel", "whl", "-py3-none-any.whl"),
            ("sources", "ver", ".tar.gz"),
        ):
            ids[kind] = f"{prefix}_{self.random.randbytes(8).hex()}"
            rows["artifacts"].append(
                {
                    "id": ids[kind],
                    "environment_id": identity,
                    "kind": kind,
                    "content_hash": content,
                    "semantic_version": f"0.1.{number}",
                    "filename": f"{name.replace('-', '_')}-0.1.{number}{suffix}",
                    "sha256": self.random.randbytes(32).hex(),
                    "size": 20_000,
                    "metadata": json.dumps(metadata),
                    "created_at": self.now,
                    "received_at": self.now,
                    "checked_at": self.now,
                    "published": True,
                }
            )
        rows["versions"].append(
            {
                "id": ids["sources"],
                "environment_id": identity,
                "wheel_id": ids["wheel"],
                "number": number,
                "semantic_version": f"0.1.{number}",
                "version_key": f"0.1.{number}",
                "content_hash": content,
                "created_at": self.now,
            }
        )
        return ids["sources"]

    def _stars(self, identity: str) -> list[dict[str, Any]]:
        many = int(self.random.paretovariate(1.1)) - 1
        by = self.random.sample(self.owners, min(many, len(self.owners) // 2, 1000))
        return [{"owner_id": owner["id"], "environment_id": identity} for owner in by]

    def _time(self, second: int) -> str:
        return timestamp(_FIRST + timedelta(seconds=second))


class _Zipf:
    """Draws items of which the n-th comes 1/n^exponent as often as the first."""

    def __init__(self, source: random.Random, items: list[Any], exponent: float = 1.0) -> None:
        self.items = items
        self._random = source
        self._weights = list(accumulate((n + 2.0) ** -exponent for n in range(len(items))))

    def draw(self, many: int) -> list[Any]:
        return self._random.choices(self.items, cum_weights=self._weights, k=many)


def _words(source: random.Random, many: int) -> Iterator[str]:
    for _ in range(many):
        yield "".join(source.choices(_SYLLABLES, k=source.randint(1, 4)))
