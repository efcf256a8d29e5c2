"""A client of the Kubernetes API: requests, watches, and commands in containers.

kubernetes_asyncio finds the cluster, logs in and holds the connections; objects are sent and read
as JSON, since those of agent-sandbox have no classes there.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from kubernetes_asyncio.client import ApiClient, Configuration

from prime_cli.core.errors import NotFound, PrimeError, Unreachable, UsageError
from prime_cli.hub.sandboxes.kubernetes.errors import to_error
from prime_cli.hub.sandboxes.kubernetes.kubeconfig import load_kubeconfig
from prime_cli.hub.sandboxes.kubernetes.objects import CONTAINER, Status, WatchEvent
from prime_cli.hub.sandboxes.kubernetes.settings import KubernetesSettings

T = TypeVar("T")
Query = Sequence[tuple[str, str]]

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""Of commands in containers; from the first, the end of stdin can be sent (Kubernetes 1.30)."""

_SECONDS = aiohttp.ClientTimeout(total=60.0, sock_connect=10.0)
_WATCH_SECONDS = 240
_OPEN = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=_WATCH_SECONDS + 60.0)
_ALIVE_SECONDS = 30.0
"""How often a connection of a command is tried: a firewall forgets those that are silent."""
_PAUSES = (0.1, 0.5, 2.0)
_LONGEST_PAUSE = 10.0
_REJECTED, _BAD, _BUSY, _FAILED = 401, 400, 429, 500


@dataclass
class Cluster:
    """An open connection to a cluster, for the objects of one namespace."""

    settings: KubernetesSettings
    namespace: str
    configuration: Configuration
    api: ApiClient

    @classmethod
    async def connect(cls, settings: KubernetesSettings) -> Self:
        """Sends nothing yet. Raises UsageError for a configuration that cannot be used."""
        configuration, namespace = await load_kubeconfig(settings)
        return cls(settings, namespace, configuration, ApiClient(configuration))

    async def close(self) -> None:
        """Close its connections."""
        await self.api.close()

    def path(self, kind: str, name: str = "", *, group: str = "api/v1") -> str:
        """The path of a kind of object in the namespace, or of one of them."""
        return f"/{group}/namespaces/{self.namespace}/{kind}{f'/{name}' if name else ''}"

    async def request(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        body: object | None = None,
        query: Query = (),
    ) -> T:
        """Send a request and decode its answer; again where the cluster is busy or restarts.

        Raises what `to_error` makes, and Unreachable.
        """
        for pause in (*_PAUSES, None):
            wait: float | None = None
            try:
                async with self._send(method, path, query, _SECONDS, body) as answer:
                    content = await answer.read()
                    if answer.status < _BAD:
                        return _decode(content, kind)
                    failure, wait = self._error(answer, content), _retry_after(answer)
                    is_over = answer.status != _BUSY and answer.status < _FAILED
            except (OSError, TimeoutError, aiohttp.ClientError) as error:
                failure = self._no_answer(error)
                is_over = isinstance(error, aiohttp.ClientConnectorCertificateError)
            if pause is None or is_over:
                break
            await asyncio.sleep(min(pause if wait is None else wait, _LONGEST_PAUSE))
        raise failure

    async def watch(self, path: str, query: Query) -> AsyncIterator[WatchEvent]:
        """The changes of objects, until the cluster ends the watch. Raises as `request`."""
        asked = [*query, ("watch", "true"), ("timeoutSeconds", str(_WATCH_SECONDS))]
        try:
            async with self._send("GET", path, asked, _OPEN) as answer:
                if answer.status >= _BAD:
                    raise self._error(answer, await answer.read())
                async for line in answer.content:
                    if line.strip():
                        yield _decode(line, WatchEvent)
        except (OSError, TimeoutError, ValueError, aiohttp.ClientError) as error:
            raise self._no_answer(error) from error

    async def execute(
        self, pod: str, argv: Sequence[str], *, stdin: bool
    ) -> aiohttp.ClientWebSocketResponse:
        """Start a command in a pod. Raises NotFound if the pod is gone, Unreachable, UsageError."""
        query = [("container", CONTAINER), *(("command", word) for word in argv)]
        query += [("stdin", str(stdin).lower()), ("stdout", "true"), ("stderr", "true")]
        url = self._url(self.path("pods", f"{pod}/exec"), query).replace("http", "ws", 1)
        try:
            connections: aiohttp.ClientSession = self.api.rest_client.pool_manager
            connected: aiohttp.ClientWebSocketResponse = await connections.ws_connect(
                url,
                protocols=PROTOCOLS,
                headers=await self._headers(),
                heartbeat=_ALIVE_SECONDS,
                **self._route(),
            )
            return connected  # noqa: TRY300 - closed by its command
        except aiohttp.WSServerHandshakeError as error:
            status = Status(message=error.message)
            failure = to_error(error.status, status, self.settings.where, None)
            if isinstance(failure, UsageError):
                raise NotFound("The sandbox does not take commands: it has ended") from error
            raise failure from error
        except (OSError, TimeoutError, aiohttp.ClientError) as error:
            raise self._no_answer(error) from error

    # --- Connections ---

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        path: str,
        query: Query,
        limits: aiohttp.ClientTimeout,
        body: object | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer; credentials that are rejected are read anew, once."""
        content = None if body is None else msgspec.json.encode(body)
        for is_last in (False, True):
            headers = await self._headers()
            async with self.api.rest_client.pool_manager.request(
                method,
                self._url(path, query),
                data=content,
                headers={**headers, "Content-Type": "application/json"},
                timeout=limits,
                allow_redirects=False,
                **self._route(),
            ) as answer:
                if answer.status != _REJECTED or is_last:
                    yield answer
                    return
            self.configuration, _ = await load_kubeconfig(self.settings)

    def _url(self, path: str, query: Query) -> str:
        return f"{self.configuration.host}{path}{f'?{urlencode(query)}' if query else ''}"

    async def _headers(self) -> dict[str, str]:
        found = {"Accept": "application/json"}
        for each in (await self.configuration.auth_settings()).values():
            found[each["key"]] = each["value"]
        return found

    def _route(self) -> dict[str, Any]:
        route = {
            "proxy": self.configuration.proxy,
            "proxy_headers": self.configuration.proxy_headers,
            "server_hostname": self.configuration.tls_server_name,
        }
        return {name: value for name, value in route.items() if value}

    def _error(self, answer: aiohttp.ClientResponse, content: bytes) -> PrimeError:
        try:
            status = msgspec.json.decode(content, type=Status)
        except msgspec.MsgspecError:
            status = Status(message=content[:200].decode(errors="replace").strip())
        return to_error(answer.status, status, self.settings.where, _retry_after(answer))

    def _no_answer(self, error: Exception) -> Unreachable:
        why = str(error) or type(error).__name__
        failure = Unreachable(f"No Kubernetes API answers at {self.configuration.host}: {why}")
        failure.names_places = True
        return failure


def _retry_after(answer: aiohttp.ClientResponse) -> float | None:
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _decode(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreachable(
            f"The Kubernetes API sent something that is not one of its objects: {error}"
        ) from error
