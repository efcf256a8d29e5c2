import asyncio
from pathlib import Path

import msgspec

from prime_cli.runs.folder import Journal, RunFolder, writing
from prime_cli.runs.manifest import FINISHED, RUNNING, load_manifest, save_manifest
from prime_cli.runs.scrubber import Scrubber
from prime_cli.web.application import watch
from prime_cli.web.library import Library
from prime_cli.web.opened import LocalRun
from prime_cli.web.run_list import view_runs, watch_list
from tests.runs.rows import row
from tests.runs.saving import save_run


def end(folder: RunFolder) -> None:
    manifest = msgspec.structs.replace(load_manifest(folder.manifest), status=FINISHED)
    save_manifest(folder.manifest, manifest, Scrubber({}))


def test_events_come_with_each_rollout_until_the_run_ends(tmp_path: Path) -> None:
    folder = save_run(tmp_path, row(0), status=RUNNING)

    async def follow() -> list[bytes]:
        events = watch(LocalRun(folder.path), 1)
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
