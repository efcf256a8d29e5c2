"""Writers of one process take turns in the order in which they came."""

import threading
import time

import pytest

from prime_cli.core.errors import Unreachable
from prime_cli.hub.db.sqlite import WriteQueue


def wait_until_queued(queue: WriteQueue, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(queue._waiting) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_first_come_first_served() -> None:
    queue, order = WriteQueue(60), list[int]()

    def work(number: int) -> None:
        with queue.turn():
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with queue.turn():
        for number, thread in enumerate(threads):
            thread.start()
            wait_until_queued(queue, number + 1)
    for thread in threads:
        thread.join()
    assert order == list(range(20))


def test_one_at_a_time() -> None:
    queue = WriteQueue(60)
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with queue.turn():
                inside += 1
                most = max(most, inside)
                time.sleep(0)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_long_wait_ends_with_retry_after_and_blocks_nobody() -> None:
    queue = WriteQueue(0.01)
    with queue.turn():
        outcome: list[Unreachable] = []

        def wait_in_vain() -> None:
            with pytest.raises(Unreachable) as caught, queue.turn():
                pass
            outcome.append(caught.value)

        thread = threading.Thread(target=wait_in_vain)
        thread.start()
        thread.join()
        assert outcome[0].retry_after == 1.0
    with queue.turn():
        pass
    assert not queue._waiting


def test_a_block_that_fails_passes_its_turn_on() -> None:
    queue = WriteQueue(60)
    with pytest.raises(ValueError, match="wrong"), queue.turn():
        raise ValueError("wrong")
    with queue.turn():
        pass
