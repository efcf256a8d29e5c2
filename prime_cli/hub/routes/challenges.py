"""When installers are asked for credentials."""

from collections.abc import Awaitable
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from prime_cli.core.errors import NotFound
from prime_cli.hub.routes.reading import caller_of

T = TypeVar("T")


async def challenging(request: Request, found: Awaitable[T]) -> T:
    """What is found; for credentials that are no key, not finding it is 401 and not 404.

    Who sends none is never asked for any: installers look everywhere for every requirement, and
    give up at a 401. Who sends some that are good for nothing is told, whether or not there is
    anything to see; pip then asks the keyring.
    """
    try:
        return await found
    except NotFound as error:
        if "authorization" not in request.headers or caller_of(request).slug:
            raise
        raise HTTPException(
            401,
            f"{error.message}, and the credentials that were sent are no key of this hub",
            headers={"WWW-Authenticate": 'Basic realm="prime hub", charset="UTF-8"'},
        ) from error
