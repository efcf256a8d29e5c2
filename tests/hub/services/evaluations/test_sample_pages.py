"""Samples of evaluations for pages, whose charts are drawn once for all readers."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from prime_cli.hub.services.evaluations.sample_pages import read_page
from prime_cli.pages.run_page import Wanted
from prime_cli.wire.evaluations import SampleQuery
from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import made, push
from tests.hub.pushing import Push


def test_readers_who_wait_for_the_same_charts_hold_no_connection(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")
    client, ada = accounts_hub.client(key), accounts_hub.caller(key)
    Push(client).run()
    evaluation = made(client)
    push(client, evaluation, [{"reward": n / 10} for n in range(10)])
    hub = accounts_hub.hub
    drawing, go_on = threading.Event(), threading.Event()

    def wait(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "scores" in statement and not drawing.is_set():
            drawing.set()
            assert go_on.wait(10)

    event.listen(hub.database.engine, "before_cursor_execute", wait)
    try:
        with ThreadPoolExecutor(5) as threads:
            ask = partial(read_page, hub, ada, evaluation, SampleQuery(), Wanted())
            found = [threads.submit(ask)]
            assert drawing.wait(10)
            found += [threads.submit(ask) for _ in range(4)]
            time.sleep(0.3)
            pool = hub.database.engine.pool
            assert isinstance(pool, QueuePool)
            busy = pool.checkedout()
            go_on.set()
            assert [each.result(10)[1].found for each in found] == [10] * 5
    finally:
        event.remove(hub.database.engine, "before_cursor_execute", wait)
    assert busy == 1
