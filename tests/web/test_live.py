import asyncio
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.manifest import FINISHED, RUNNING, load_manifest, save_manifest
from prime_cli.runs.scrubber import Scrubber
from prime_cli.web.application import watch
from prime_cli.web.library import Library
from prime_cli.web.opened import FollowedRun
from prime_cli.web.run_list import view_runs, watch_list
from tests.runs.rows import row
from tests.runs.saving import save_run


def end(folder: RunFolder) -> None:
    manifest = msgspec.structs.replace(load_manifest(folder.manifest), status=FINISHED)
    save_manifest(folder.manifest, manifest, Scrubber({}))


def test_events_come_with_each_rollout_until_the_run_ends(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING)

    async def follow() -> list[bytes]:
        events = watch(FollowedRun(folder.path), 1)
        received = [await anext(events)]
        journal.append(row(1))
        received.append(await anext(events))
        journal.append(row(2))
        received.append(await anext(events))
        end(folder)
        return received + [each async for each in events]

    with writing(folder), Journal(folder.journal, Scrubber({})) as journal:
        received = asyncio.run(follow())

    assert received[1:] == [
        b'id: 2\nevent: grown\ndata: {"lines":2}\n\n',
        b'id: 3\nevent: grown\ndata: {"lines":3}\n\n',
        b'event: ended\ndata: {"status":"finished"}\n\n',
    ]


def test_the_list_tells_of_each_run_that_begins_and_ends(tmp_path: Path) -> None:
    save_run(tmp_path, row(0))
    library = Library(tmp_path)
    stream = view_runs(library, {}).stream
    known = int(stream.partition("=")[2])

    async def follow() -> list[bytes]:
        events = watch_list(library, known)
        received = [await anext(events)]
        folder = save_run(tmp_path, row(0), status=RUNNING)
        with writing(folder):
            received.append(await anext(events))
            end(folder)
        received.append(await anext(events))
        return received

    received = asyncio.run(follow())

    assert [b"event: grown" in each for each in received] == [False, True, True]
    assert received[1] != received[2]
    assert view_runs(library, {}).stream != stream


@contextmanager
def growing(folder: RunFolder) -> Iterator[None]:
    """Rollouts of ten examples are added all the time: number k, from 0, has the reward k.

    Each tenth ends in an error, and what it would have scored is left out.
    """
    is_over = threading.Event()

    def write() -> None:
        with writing(folder), Journal(folder.journal, Scrubber({})) as journal:
            for count in range(10_000):
                reward = None if count % 10 == 9 else float(count)
                journal.append(row(count % 10, count // 10, reward, metrics={"length": count}))
                is_begun.set()
                if is_over.wait(0.001):
                    return

    is_begun = threading.Event()
    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert is_begun.wait(10)
        yield
    finally:
        is_over.set()
        writer.join()


METRIC = r'<td>length</td><td class="number">([\d,]+)</td><td class="number">([\d.,]+)</td>'
ROW = (
    r'<th scope="row">(\d+)</th>(?:(?!<tr).)*?'
    r'(?:<span class="faint">\+([\d,]+)</span>)?</span></td></tr>'
)
ERROR = r'<td>APITimeoutError</td><td class="number">([\d,]+)</td>'
approx = partial(pytest.approx, rel=1e-3)


def numbers(pattern: str, page: str) -> list[float]:
    """The numbers that the groups of `pattern` match on a page, where it is found first."""
    found = re.search(pattern, page, re.DOTALL)
    assert found is not None, (pattern, page)
    return [float(each.replace(",", "")) for each in found.groups()]


def test_every_number_of_a_page_is_of_the_same_moment(pages: TestClient, tmp_path: Path) -> None:
    folder = save_run(tmp_path, status=RUNNING, planned=10_000)
    seen = set()

    with growing(folder):
        for _ in range(100):
            page = pages.get(f"/runs/{folder.run_id}").text
            (finished,) = numbers(r"<dt>Rollouts</dt><dd>([\d,]+) of 10,000", page)
            seen.add(finished)
            failed = finished // 10
            rewards = [k for k in range(int(finished)) if k % 10 != 9]
            mean = sum(rewards) / len(rewards)
            assert numbers(r"<dt>Mean reward</dt><dd>([\d.,]+)", page) == [approx(mean)]
            assert numbers(r"events\?known=(\d+)", page) == [finished]
            assert numbers(r"Reward: ([\d,]+) values from 0 to ([\d,]+)", page) == [
                len(rewards),
                rewards[-1],
            ]
            cells = Counter(re.findall(r'href="[^"]*/rollouts/(\d+)\.\d+"', page))
            assert cells  # of as many examples as there is room for
            more = Counter[str]()
            for example, count in re.findall(ROW, page, re.DOTALL):
                more[example] = int(count.replace(",", "") or 0)
            for example, count in cells.items():
                assert count + more[example] == (finished - int(example) + 9) // 10
            assert numbers(METRIC, page) == [len(rewards), approx(mean)]
            if failed:
                assert numbers(r"<dt>Errors</dt><dd>([\d,]+) ", page) == [failed]
                assert numbers(ERROR, page) == [failed]

    assert len(seen) > 3
