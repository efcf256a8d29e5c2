"""An outer limit on every call, retries included."""

import asyncio

from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply


class Deadline:
    """The step that gives up on a call after `seconds`; a stream must begin by then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def __call__(self, call: Call, handler: Handler) -> Reply:
        try:
            async with asyncio.timeout(self._seconds):
                return await handler(call)
        except TimeoutError as error:
            raise CallFailed(
                f"`{call.head.model or call.path}` did not answer within {self._seconds:g} s",
                status=504,
                blame="infra",
                code="deadline",
            ) from error
