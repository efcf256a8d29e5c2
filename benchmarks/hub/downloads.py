"""Wheels downloaded and published: this hub beside devpi, pypiserver and nginx.

    python benchmarks/hub/downloads.py --work DIR [--rounds 2] [--sizes 1,100]

Needs `wrk` and `nginx`; devpi-server and pypiserver come from PyPI into venvs of their own in DIR.
Downloads: 16 connections fetch one wheel of 1 MB for 3 seconds, from each server in turn and in
rounds, since the machine is seldom quiet; a CPU second is one of all processes of the server. How
much of the sending is done in wrk's time depends on what else runs, so both together are printed.
Publishing: the least and the median of five wheels of 1 MB (three of 100 MB), each with new bytes,
from the first request to the last answer by plain httpx; to this hub with all that its protocol
asks: declared, sent, checked, and a source archive too, flushed to the disk. Beside them the time
to write as many bytes to a file in DIR and flush it.
"""

import argparse
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.hub import contestants
from benchmarks.hub.measuring import cpu_seconds, load
from tests.helpers.serving import serve
from tests.hub.pushing import HUB, Push, data, make_wheel

CONNECTIONS = 16
SECONDS = 3
NAME = "bytes"
_MEGABYTE = 1_000_000
_SEND_SECONDS = 600
# What the contestants hold beside it.
_FEW = 2
_numbers = count(time.time_ns())

Publish = Callable[[str, bytes], None]
"""Publishes a wheel of a version."""


@dataclass
class Place:
    """A server that holds a wheel of 1 MB at `url`; `publish` is None where nothing publishes."""

    name: str
    pid: int
    url: str
    publish: Publish | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sizes", default="1,100", help="megabytes of what is published")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    columns = f"{'req/s/core':>10} {'CPU us':>7} {'with wrk':>8} {'req/s':>6} {'p99 ms':>7}"
    print(f"{'server':16} {columns} {'load':>5}")
    for _ in range(args.rounds):
        for start in (ours, nginx, devpi, pypiserver):
            with start(args.work) as place:
                _download(place)
    print(f"\n{'server':16} {'MB':>4} {'least s':>8} {'median s':>8} {'CPU':>6} {'client':>7} load")
    for size in (int(text) for text in args.sizes.split(",") if text):
        _write(args.work, size)
        for start in (ours, devpi, pypiserver):
            with start(args.work) as place:
                _publish(place, size)


def _download(place: Place) -> None:
    for _ in range(CONNECTIONS):
        assert len(httpx.get(place.url).raise_for_status().content) >= _MEGABYTE
    done = load(place.pid, place.url, connections=CONNECTIONS, seconds=SECONDS)
    server, both = (1e6 * used / done.requests for used in (done.cpu, done.cpu + done.wrk))
    print(
        f"{place.name:16} {done.per_core:>10.0f} {server:>7.0f} {both:>8.0f} "
        f"{done.requests / done.seconds:>6.0f} {done.p99:>7.0f} {done.machine:>5.1f} {done.bad}",
        flush=True,
    )


def _publish(place: Place, size: int) -> None:
    """CPU seconds are those of one wheel on average, of the server and of the client here."""
    assert place.publish is not None
    place.publish(*_new_wheel(1))
    wheels = [_new_wheel(size) for _ in range(_how_many(size))]
    took = []
    server, client = cpu_seconds(place.pid), time.process_time()
    for version, wheel in wheels:
        start = time.perf_counter()
        place.publish(version, wheel)
        took.append(time.perf_counter() - start)
    server, client = cpu_seconds(place.pid) - server, time.process_time() - client
    _tell(place.name, size, took, f"{server / len(took):>6.3f} {client / len(took):>7.3f}")


def _write(work: Path, size: int) -> None:
    took = []
    content = random.randbytes(size * _MEGABYTE)
    for _ in range(_how_many(size)):
        start = time.perf_counter()
        with (work / "written").open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        took.append(time.perf_counter() - start)
    _tell("write and fsync", size, took, f"{'':6} {'':7}")


def _tell(name: str, size: int, took: list[float], cpu: str) -> None:
    print(
        f"{name:16} {size:>4} {min(took):>8.3f} {statistics.median(took):>8.3f} {cpu} "
        f"{os.getloadavg()[0]:.1f}",
        flush=True,
    )


def _how_many(size: int) -> int:
    return 5 if size < 10 else 3


def _new_wheel(size: int) -> tuple[str, bytes]:
    """A version that was never there, and a wheel of it with `size` megabytes."""
    version = f"0.{next(_numbers)}"
    code = "# " + random.randbytes(size * _MEGABYTE // 2).hex()
    return version, make_wheel(NAME, version, code)


@contextmanager
def ours(work: Path) -> Iterator[Place]:
    """`prime hub serve`, with its access log and metrics, on an empty folder."""
    with serve(work / f"hub-{next(_numbers)}") as hub, hub.client() as client:
        client.timeout = _SEND_SECONDS

        def publish(version: str, wheel: bytes) -> None:
            push = Push(client, NAME, version)
            push.wheel = wheel
            push.run()

        publish(*_new_wheel(1))
        url = data(client.get(f"{HUB}/admin/{NAME}/@latest"))["wheel_url"]
        yield Place("prime hub serve", hub.process.pid, url, publish)


@contextmanager
def devpi(work: Path) -> Iterator[Place]:
    with contestants.devpi(work, _FEW) as server, contestants.devpi_client() as client:
        yield _uploaded("devpi-server", server, client, "/root/dev/", f"/root/dev/+simple/{NAME}/")


@contextmanager
def pypiserver(work: Path) -> Iterator[Place]:
    url = contestants.URL
    with (
        contestants.pypiserver(work, _FEW) as server,
        httpx.Client(base_url=url, timeout=_SEND_SECONDS) as client,
    ):
        yield _uploaded("pypiserver", server, client, "/", f"/simple/{NAME}/")


def _uploaded(
    name: str, server: contestants.Server, client: httpx.Client, path: str, page: str
) -> Place:
    """A wheel sent as twine does, and found again on the index page."""

    def publish(version: str, wheel: bytes) -> None:
        contestants.upload(client, path, NAME, version, wheel)

    version, wheel = _new_wheel(1)
    publish(version, wheel)
    answer = client.get(page).raise_for_status()
    links = re.findall(r'href="([^"#]+)', answer.text)
    link = next(link for link in links if version in link)
    return Place(name, server.process.pid, str(answer.url.join(link)), publish)


@contextmanager
def nginx(work: Path) -> Iterator[Place]:
    with contestants.nginx(work, _FEW) as server:
        (work / f"pages-{_FEW}" / "bytes.whl").write_bytes(_new_wheel(1)[1])
        yield Place("nginx, sendfile", server.process.pid, f"{server.url}/bytes.whl")


if __name__ == "__main__":
    main()
