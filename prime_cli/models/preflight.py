"""Check that an endpoint responds, before preparing an environment for it."""

import difflib
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from prime_cli.core.errors import Unreachable
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.holds import refusal
from prime_cli.models.gateway.upstream import authorized, proxy_for
from prime_cli.models.price_book import stated_price
from prime_cli.models.prices import Price


class ModelItem(msgspec.Struct):
    """One model that an endpoint serves; `pricing` is what OpenRouter and others add."""

    id: str
    pricing: Any = None


class ModelList(msgspec.Struct):
    """The answer to GET /models."""

    data: list[ModelItem]


@dataclass
class Preflight:
    """What endpoints reported: warnings, and prices by base URL and model."""

    warnings: list[str] = field(default_factory=list)
    prices: dict[tuple[str, str], Price] = field(default_factory=dict)


async def check_endpoint(endpoint: Endpoint, *, seconds: float = 10.0) -> Preflight:
    """Ask each endpoint of the group for its models; warns of what may still work.

    Many servers have no `/models`, so a 404 or an odd answer stops nothing. Raises Unreachable
    when nothing listens there, NotLoggedIn when the key is refused, NotAllowed when it may not.
    """
    found = Preflight()
    if endpoint.builtin:
        return found
    timeout = aiohttp.ClientTimeout(total=seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        for member in endpoint.group:
            await _check_one(session, member, found)
    return found


async def _check_one(session: aiohttp.ClientSession, endpoint: Endpoint, found: Preflight) -> None:
    where = urlsplit(endpoint.url).netloc
    try:
        async with session.get(
            URL(endpoint.url_of("models"), encoded=True),
            headers=authorized(endpoint, {}),
            allow_redirects=False,
            proxy=proxy_for(endpoint.url),
        ) as response:
            status, body = response.status, await response.read()
    except aiohttp.ClientConnectorError as error:
        raise Unreachable(
            f"No model server answers at {endpoint.url}: {error.strerror or error}",
            hint="start the server, or check the URL given with `-b` or in the registry",
        ) from error
    except TimeoutError:
        found.warnings.append(f"{where} did not list its models in time")
        return
    except (aiohttp.ClientError, OSError) as error:
        why = error or type(error).__name__
        found.warnings.append(f"{where} closed the connection while listing its models: {why}")
        return
    refused = refusal(endpoint, status)
    if refused is not None:
        raise refused
    if status == HTTPStatus.OK:
        _check_listed(endpoint, where, body, found)


def _check_listed(endpoint: Endpoint, where: str, body: bytes, found: Preflight) -> None:
    try:
        served = {item.id: item for item in msgspec.json.decode(body, type=ModelList).data}
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    if not served:
        return
    if endpoint.model in served:
        price = stated_price(served[endpoint.model].pricing, where)
        if price is not None:
            found.prices[endpoint.url, endpoint.model] = price
        return
    close = difflib.get_close_matches(endpoint.model, served, n=1, cutoff=0.4)
    guess = f"; did you mean `{close[0]}`?" if close else ""
    found.warnings.append(f"`{endpoint.model}` is not among the models that {where} lists{guess}")
