"""Blocking calls beside the event loop, in threads that the end of the process does not await."""

import _thread
import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import closing, suppress
from typing import Any, TypeVar

from prime_cli.api.transports import HTTP_ERROR, Answer
from prime_cli.core.errors import PrimeError, Unreachable

T = TypeVar("T")


async def chunks_of(response: Answer) -> AsyncGenerator[bytes, None]:
    """The body as it comes, read by a thread that is at most one chunk ahead, and closes it."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | PrimeError | None] = asyncio.Queue(maxsize=1)
    is_over = threading.Event()

    def put(item: bytes | PrimeError | None) -> None:
        if not is_over.is_set():
            wait_for(queue.put(item), loop)

    def read() -> None:
        # A closed loop is the end of the run.
        with suppress(RuntimeError), closing(response):
            try:
                for chunk in response.iter_raw():
                    put(chunk)
                    if is_over.is_set():
                        return
            except (PrimeError, OSError, HTTP_ERROR) as error:
                put(Unreachable(f"The hub ended its answer early: {error}"))
            put(None)

    threading.Thread(target=read, name="prime-sandbox", daemon=True).start()
    try:
        while (item := await queue.get()) is not None:
            if isinstance(item, PrimeError):
                raise item
            yield item
    finally:
        is_over.set()
        with suppress(asyncio.QueueEmpty):
            queue.get_nowait()


def wait_for(coroutine: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """Its result, for a thread beside the loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


async def in_thread(call: Callable[[], T], unwanted: Callable[[T], object] = lambda _: None) -> T:
    """Its result, from a thread for whose end nobody waits when the run has ended.

    Nor when the caller was cancelled: `unwanted` gets the result then, in another thread.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(result: T | None, error: BaseException | None) -> None:
        if done.done():
            if error is None:
                _thread.start_new_thread(lambda: unwanted(result), ())  # type: ignore[arg-type]  # T
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # T, where there is no error

    def work() -> None:
        result, failure = None, None
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, result, failure)

    # `threading.Thread` waits here until the new thread runs, and the loop with it.
    _thread.start_new_thread(work, ())
    return await done
