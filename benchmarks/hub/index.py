"""Index and metadata pages per second and core: this hub beside devpi, pypiserver and nginx.

    python benchmarks/hub/index.py --work DIR [--ours 100,10000,1000000] [--theirs 100]

Needs `wrk` (and `nginx`, if it is there); devpi-server and pypiserver come from PyPI into venvs of
their own in DIR. Each contestant is asked in turn, in one run, with 32 connections for 3 seconds by
one thread of wrk. A core's second is a second of CPU of all processes of the server, from /proc, so
the figure depends less on what else runs than p99 does; the load is printed with both. Pages are of
one environment that is asked again and again, `all` of up to 50,000 that are asked in turn.
"""

import argparse
import random
import sqlite3
import sys
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.hub.contestants import Server, devpi, keyed_pypiserver, nginx, ours, pypiserver
from benchmarks.hub.measuring import load

SECONDS = 3
CONNECTIONS = 32
_JSON = "accept: application/vnd.pypi.simple.v1+json"
_WARM_UP = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--ours", default="100,10000")
    parser.add_argument("--theirs", default="100")
    args = parser.parse_args()
    print(
        f"{'server':22} {'projects':>9}  {'page':24} {'req/s/core':>10} {'p99 ms':>8} {'load':>5}"
    )
    for count in _numbers(args.theirs):
        for start in (devpi, pypiserver, keyed_pypiserver, nginx):
            with start(args.work, count) as server:
                if start is not keyed_pypiserver:
                    report(server, count, "simple page", server.page)
                if server.login:
                    report(server, count, "simple page, keyed", server.page, server.login)
    for count in _numbers(args.ours):
        with ours(args.work, count) as server:
            _report_ours(args.work, server, count)


def _report_ours(work: Path, server: Server, count: int) -> None:
    slugs = _public(work / f"hub-{count}" / "hub.db")
    owner, name = slugs[0]
    api = f"{server.url}/api/v1/environmentshub/{owner}/{name}"
    page = f"{server.url}/{owner}/simple/{name}/"
    report(server, count, "simple page", page)
    report(server, count, "simple page, keyed", page, server.login)
    report(server, count, "simple page, JSON", page, _JSON)
    report(server, count, "detail", f"{api}/@latest")
    report(server, count, "status", f"{api}/status")
    report(server, count, "versions", f"{api}/versions")
    report(server, count, "not there", f"{server.url}/{owner}/simple/requests/")
    script = work / f"first-{count}.lua"
    script.write_text(_lua([f"/{owner}/simple/{name}/" for owner, name in slugs]))
    report(server, count, "simple pages, all", server.url, script=script)


def report(
    server: Server, count: int, what: str, url: str, *headers: str, script: Path | None = None
) -> None:
    """Ask `url` for a while and print how many answers a core's second gave."""
    options = [word for header in headers for word in ("-H", header)]
    options += ["-s", str(script)] if script else []
    sent = dict(header.split(": ", 1) for header in headers)
    for _ in range(_WARM_UP):
        httpx.get(url, headers=sent)
    done = load(server.process.pid, url, connections=CONNECTIONS, seconds=SECONDS, options=options)
    bad = f" {done.bad}" if done.bad and what != "not there" else ""
    print(
        f"{server.name:22} {count:>9}  {what:24} {done.per_core:>10.0f} {done.p99:>8.1f} "
        f"{done.machine:>5.1f}{bad}",
        flush=True,
    )


def _public(database: Path, most: int = 50_000) -> list[tuple[str, str]]:
    """Owner and name of public environments that have a version, in no order."""
    connection = sqlite3.connect(database)
    rows = connection.execute(
        "SELECT owners.slug, environments.normalized_name FROM environments"
        " JOIN owners ON owners.id = environments.owner_id"
        " WHERE visibility = 'PUBLIC' AND latest_version_id IS NOT NULL LIMIT ?",
        (most,),
    ).fetchall()
    connection.close()
    random.Random(1).shuffle(rows)
    return rows


def _lua(paths: list[str]) -> str:
    listed = ",\n".join(f'"{path}"' for path in paths)
    return (
        f"local paths = {{{listed}}}\nlocal n = 0\n"
        "request = function()\n  n = n % #paths + 1\n  return wrk.format('GET', paths[n])\nend\n"
    )


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


if __name__ == "__main__":
    start = time.monotonic()
    main()
    print(f"{time.monotonic() - start:.0f} s")
