"""Time lists and searches of a hub that `million.py` has filled.

    python benchmarks/hub/catalogue.py --data DIR [--database postgresql://…] [--rounds 100]

Each line is one kind of request: p50 and p99 in milliseconds of wall time, and CPU time of this
process, once through the service alone and once as a whole request to the application (without a
socket). Texts change from request to request, so that no plan or page is met twice in a row;
`load` is the load average of the machine at the end.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from sqlalchemy import func, select

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from prime_cli.client.api.transports import AppTransport
from prime_cli.core.archive.source_analysis import EnvironmentKind
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.app import create_app
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, owners, tallies
from prime_cli.hub.services.environment_list import list_environments
from prime_cli.hub.services.environments import get_detail
from prime_cli.hub.settings import HubSettings
from prime_cli.wire.environments import EnvironmentQuery, SortKey

ADA = Caller.alone("ada")
Options = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time lists and searches of a filled hub.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--database")
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    app = create_app(HubSettings(data=args.data, owner="ada", database=args.database))
    client = httpx.Client(transport=AppTransport(app), base_url="http://hub.local")
    hub: Hub = app.state.hub
    print("| request | p50 ms | p99 ms | CPU ms | HTTP p50 ms | HTTP p99 ms | HTTP CPU ms |")
    print("|---|---|---|---|---|---|---|")
    for name, requests in kinds(hub, random.Random(1)).items():
        service = measure(_service(hub), requests, args.rounds)
        whole = measure(_whole(client), requests, args.rounds)
        print(f"| {name} | {service} | {whole} |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def kinds(hub: Hub, draw: random.Random) -> dict[str, Callable[[], Options]]:
    """What each kind of request asks for next."""
    many, words, slugs = _sample(hub)
    common, mid, rare = (
        [word for word, count in words if low <= count / many < high] or [words[0][0]]
        for low, high in ((0.1, 1), (0.005, 0.1), (0, 0.001))
    )
    deep = min(100_000, many // 2)
    first = {f"first page by {order}": lambda order=order: {"sort_by": order} for order in SortKey}
    cursors = _cursors(hub)
    return {
        **first,
        "100 rows": lambda: {"limit": 100},
        "of an owner": lambda: {"owner": draw.choice(slugs).partition("/")[0]},
        "private only": lambda: {"visibility": "PRIVATE"},
        "mine, by stars": lambda: {"mine_only": True, "sort_by": "stars"},
        "starred": lambda: {"starred_only": True},
        "one kind": lambda: {"kind": draw.choice(list(EnvironmentKind))},
        "one kind by downloads": lambda: {"kind": "v0", "sort_by": "downloads"},
        "one tag": lambda: {"tags": (f"tag-{draw.randint(0, 99)}",)},
        "two tags": lambda: {"tags": (f"tag-{draw.randint(0, 9)}", f"tag-{draw.randint(0, 99)}")},
        "rare word": lambda: {"search": draw.choice(rare)},
        "mid word": lambda: {"search": draw.choice(mid)},
        "common word": lambda: {"search": draw.choice(common)},
        "common word by stars": lambda: {"search": draw.choice(common), "sort_by": "stars"},
        "two mid words": lambda: {"search": f"{draw.choice(mid)} {draw.choice(mid)}"},
        "common and rare word": lambda: {"search": f"{draw.choice(common)} {draw.choice(rare)}"},
        "beginning of words": lambda: {"search": draw.choice(mid)[:3]},
        "a word and a tag": lambda: {"search": draw.choice(mid), "tags": ("tag-1",)},
        f"offset {deep // 10}": lambda: {"offset": deep // 10 + draw.randint(0, 99)},
        f"offset {deep}": lambda: {"offset": max(0, deep - draw.randint(0, 99))},
        "next page by cursor": lambda: {"cursor": next(cursors)},
        "detail": lambda: {"ref": draw.choice(slugs)},
        "detail of what is not there": lambda: {"ref": draw.choice(slugs) + "x"},
    }


def measure(run: Callable[[Options], None], requests: Callable[[], Options], rounds: int) -> str:
    """p50, p99 of wall time, and the mean CPU time, in milliseconds."""
    taken = []
    run(requests())
    cpu = time.process_time()
    for _ in range(rounds):
        options = requests()
        start = time.perf_counter()
        run(options)
        taken.append((time.perf_counter() - start) * 1000)
    cpu = (time.process_time() - cpu) * 1000 / rounds
    return (
        f"{statistics.median(taken):.1f} | {sorted(taken)[int(rounds * 0.99) - 1]:.1f} | {cpu:.1f}"
    )


def _service(hub: Hub) -> Callable[[Options], None]:
    def run(options: Options) -> None:
        if "ref" not in options:
            list_environments(hub, ADA, EnvironmentQuery(**options))
            return
        with suppress(NotFound):
            get_detail(hub, ADA, EnvRef.parse(options["ref"]))

    return run


def _whole(client: httpx.Client) -> Callable[[Options], None]:
    def run(options: Options) -> None:
        root = "/api/v1/environmentshub/"
        if "ref" in options:
            client.get(f"{root}{options['ref']}/@latest")
        else:
            client.get(f"{root}?{urlencode(options, doseq=True)}").raise_for_status()

    return run


def _cursors(hub: Hub) -> Iterator[str]:
    cursor = None
    while True:
        page = list_environments(hub, ADA, EnvironmentQuery(cursor=cursor))
        cursor = page.next_cursor
        if cursor:
            yield cursor


def _sample(hub: Hub) -> tuple[int, list[tuple[str, int]], list[str]]:
    """How many environments there are, words with their counts, and some `owner/name`."""
    with hub.database.read() as connection:
        many = connection.execute(select(func.count()).select_from(environments)).scalar_one()
        words = connection.execute(
            select(tallies.c.token, tallies.c.count)
            .where(tallies.c.token > "a", func.length(tallies.c.token) > 3)
            .order_by(tallies.c.count.desc(), tallies.c.token)
            .limit(20_000)
        )
        slugs = connection.execute(
            select(owners.c.slug, environments.c.name)
            .join(owners, environments.c.owner_id == owners.c.id)
            .where(environments.c.visibility == "PUBLIC")
            .limit(2000)
        )
        return many, [(token, count) for token, count in words], ["/".join(row) for row in slugs]


if __name__ == "__main__":
    main()
