"""Check that an endpoint responds, before preparing an environment for it."""

import difflib
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from prime_cli.core.errors import Unreachable
from prime_cli.core.network import is_socks, proxy_failure
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.connections import Connections, failures, proxy_for
from prime_cli.models.gateway.holds import refusal
from prime_cli.models.gateway.upstream import authorized
from prime_cli.models.price_book import stated_price
from prime_cli.models.prices import Price
from prime_cli.models.providers import AUTHORIZATION, is_hosted, provider_at

_VERSION = r"-(\d{3,4}|\d{8}|\d{4}-\d\d-\d\d)"
"""As in `gemini-1.5-pro-002`, `claude-sonnet-4-5-20250929`, `gpt-4o-2024-08-06`."""


class EndpointModel(msgspec.Struct):
    """One model that an endpoint serves; `pricing` is what OpenRouter and others add."""

    id: str
    pricing: Any = None


class EndpointModels(msgspec.Struct):
    """The answer to GET /models."""

    data: list[EndpointModel]


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
    async with Connections(timeout) as connections:
        for member in endpoint.group:
            await _check_one(connections, member, found)
    return found


async def _check_one(connections: Connections, endpoint: Endpoint, found: Preflight) -> None:
    where, proxy = urlsplit(endpoint.url).netloc, proxy_for(endpoint.url)
    try:
        async with connections.request(
            "GET",
            URL(endpoint.url_of("models"), encoded=True),
            headers=_listing_headers(endpoint),
        ) as response:
            status, body = response.status, await response.read()
    except aiohttp.ClientConnectorError as error:
        raise _unreachable(endpoint, proxy, error) from error
    except aiohttp.ClientHttpProxyError as error:
        raise _unreachable(endpoint, proxy, error) from error
    except TimeoutError:
        found.warnings.append(f"{where} did not list its models in time")
        return
    except failures() as error:
        if proxy is not None and is_socks(proxy):
            raise _unreachable(endpoint, proxy, error) from error
        why = error or type(error).__name__
        found.warnings.append(f"{where} closed the connection while listing its models: {why}")
        return
    refused = refusal(endpoint, status)
    if refused is not None:
        raise refused
    if status == HTTPStatus.OK:
        _check_listed(endpoint, where, body, found)


def _listing_headers(endpoint: Endpoint) -> dict[str, str]:
    """Anthropic lists its models by its own API alone, which wants the key in another header."""
    headers = authorized(endpoint, {})
    service = provider_at(endpoint.url)
    if service is not None and service.name == "anthropic" and endpoint.key is not None:
        headers.pop(AUTHORIZATION, None)
        headers |= {"x-api-key": endpoint.key.reveal(), "anthropic-version": "2023-06-01"}
    return headers


def _unreachable(
    endpoint: Endpoint,
    proxy: str | None,
    error: Exception,
) -> Unreachable:
    """What did not answer, and a hint about what the user gave to get there."""
    why = getattr(error, "strerror", None) or error
    if proxy is not None:
        if isinstance(error, aiohttp.ClientHttpProxyError):
            why = f"it answered {error.status} {error.message}".rstrip()
        if (failure := proxy_failure(endpoint.url, why)) is not None:
            return failure
    if not endpoint.chosen_by:
        return Unreachable(
            f"OpenAI, which is called as no other endpoint was named, does not answer: {why}",
            hint="check the network, or use a server of yours with `-b URL`; "
            "`-m builtin/oracle` needs neither",
        )
    if is_hosted(endpoint.url):
        return Unreachable(
            f"{endpoint.url} does not answer: {why}",
            hint="check the network; `-m builtin/oracle` needs none",
        )
    return Unreachable(
        f"No model server answers at {endpoint.url}: {why}",
        hint=f"start the server, or correct the URL given by {endpoint.chosen_by}",
    )


def _check_listed(endpoint: Endpoint, where: str, body: bytes, found: Preflight) -> None:
    try:
        served = {item.id: item for item in msgspec.json.decode(body, type=EndpointModels).data}
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    if not served:
        return
    if endpoint.model not in served and f"models/{endpoint.model}" in served:  # as Gemini has them
        return
    if endpoint.model in served:
        price = stated_price(served[endpoint.model].pricing, where)
        if price is not None:
            found.prices[endpoint.url, endpoint.model] = price
        return
    newest = re.compile(re.escape(endpoint.model) + _VERSION)
    if any(map(newest.fullmatch, served)):
        return  # the name stands for its newest version
    close = difflib.get_close_matches(endpoint.model, served, n=1, cutoff=0.4)
    guess = f"; did you mean `{close[0]}`?" if close else ""
    found.warnings.append(f"`{endpoint.model}` is not among the models that {where} lists{guess}")
