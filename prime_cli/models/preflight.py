"""Asking an endpoint whether it is there, before an environment is made ready for it."""

import difflib
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp
import msgspec

from prime_cli.core.errors import NotAllowed, NotLoggedIn, Unreachable
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.upstream import authorized, proxy_for


class ModelItem(msgspec.Struct):
    """One model that an endpoint serves."""

    id: str


class ModelList(msgspec.Struct):
    """The answer to GET /models."""

    data: list[ModelItem]


async def check_endpoint(endpoint: Endpoint, *, seconds: float = 10.0) -> list[str]:
    """Ask each endpoint of the group for its models; warnings, for what may still work.

    Many servers have no `/models`, so a 404 or an odd answer stops nothing. Raises Unreachable
    when nothing listens there, NotLoggedIn when the key is refused, NotAllowed when it may not.
    """
    if endpoint.builtin:
        return []
    timeout = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        warnings = [await _check_one(session, member) for member in endpoint.group]
    return [warning for warning in warnings if warning]


async def _check_one(session: aiohttp.ClientSession, endpoint: Endpoint) -> str | None:
    where = urlsplit(endpoint.url).netloc
    try:
        async with session.get(
            f"{endpoint.url}/models",
            headers=authorized(endpoint, {}),
            allow_redirects=False,
            proxy=proxy_for(endpoint.url),
        ) as response:
            status, body = response.status, await response.read()
    except aiohttp.ClientConnectorError as error:
        raise Unreachable(
            f"No model server answers at {endpoint.url}: {error.strerror or error}",
            hint="start the server, or check the address given with `-b` or in the registry",
        ) from error
    except TimeoutError:
        return f"{where} was asked for its models and did not answer in time"
    except (aiohttp.ClientError, OSError) as error:
        return f"{where} was asked for its models and hung up: {error or type(error).__name__}"
    _check_status(endpoint, where, status)
    return _check_listed(endpoint, where, body) if status == HTTPStatus.OK else None


def _check_status(endpoint: Endpoint, where: str, status: int) -> None:
    if status == HTTPStatus.UNAUTHORIZED:
        raise NotLoggedIn(
            f"{where} refused the key for `{endpoint.model}`",
            hint="check the variable that `-k` or the registry's `key` names",
        )
    if status == HTTPStatus.FORBIDDEN:
        raise NotAllowed(
            f"{where} does not let this key use its models",
            hint="check the account's rights, or name another key with `-k VARIABLE`",
        )


def _check_listed(endpoint: Endpoint, where: str, body: bytes) -> str | None:
    try:
        served = [item.id for item in msgspec.json.decode(body, type=ModelList).data]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if not served or endpoint.model in served:
        return None
    close = difflib.get_close_matches(endpoint.model, served, n=1, cutoff=0.4)
    guess = f"; did you mean `{close[0]}`?" if close else ""
    return f"`{endpoint.model}` is not among the models that {where} lists{guess}"
