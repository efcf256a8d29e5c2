"""A client of the Kubernetes API: requests, watches, and commands in containers.

kubernetes_asyncio finds the cluster, logs in and holds the connections; objects are sent and read
as JSON, since those of agent-sandbox have no classes there.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
import yaml  # type: ignore[import-untyped]
from kubernetes_asyncio import config
from kubernetes_asyncio.client import ApiClient, Configuration

from prime_cli.core.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    NotLoggedIn,
    PrimeError,
    RateLimited,
    Unreachable,
    UsageError,
)
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


# --- Login ---

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


async def load_kubeconfig(settings: KubernetesSettings) -> tuple[Configuration, str]:
    """The configuration with credentials, and the namespace. Raises UsageError."""
    configuration = Configuration()
    # Each command is a connection that lasts.
    configuration.connection_pool_maxsize = 0
    try:
        named = await _load(settings, configuration)
    except (config.ConfigException, ssl.SSLError, OSError, KeyError, yaml.YAMLError) as error:
        raise UsageError(
            f"kubectl's configuration cannot be used: {error}",
            hint="`kubectl config get-contexts` lists what is there",
        ) from error
    return configuration, settings.namespace or named


async def _load(settings: KubernetesSettings, configuration: Configuration) -> str:
    """Fill `configuration`; the namespace that it names."""
    if settings.kubeconfig is None:
        # It has no types.
        load: Any = config.load_incluster_config
        load(client_configuration=configuration)
        return (await asyncio.to_thread(_NAMESPACE_FILE.read_text, "utf-8")).strip()
    loader = await config.load_kube_config(
        config_file=settings.kubeconfig,
        context=settings.context,
        client_configuration=configuration,
        persist_config=False,
    )
    context = loader.current_context or {}
    return str(context.get("context", {}).get("namespace", "default"))


# --- Errors ---

_RIGHTS = "docs/deploy/sandboxes-role.yaml has the rights that are needed"
_TRY_AGAIN = 5.0


def to_error(code: int, status: Status, where: str, retry_after: float | None) -> PrimeError:
    """The error for an answer with the HTTP status `code`, 400 or more, of the cluster `where`.

    RateLimited and Unreachable are worth a retry; UsageError is a request that the cluster rejects.
    """
    words = status.message[:2000] or f"HTTP {code}"
    cluster = where[:1].upper() + where[1:]
    if code == HTTPStatus.FORBIDDEN and "exceeded quota" in words:
        return RateLimited(f"{cluster} is full: {words}", retry_after=_TRY_AGAIN)
    if code == HTTPStatus.NOT_FOUND and words.startswith("namespaces "):
        return UsageError(
            f"{cluster} has no such namespace: {words}",
            hint="create it with `kubectl create namespace`, or set PRIME_KUBERNETES_NAMESPACE",
        )
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        wait = _TRY_AGAIN if retry_after is None else retry_after
        return RateLimited(f"{cluster} is busy: {words}", retry_after=wait)
    if code == HTTPStatus.UNAUTHORIZED:
        return NotLoggedIn(
            f"{cluster} does not accept your credentials",
            hint="log in to it again; `kubectl auth whoami` tries them",
        )
    if code in _KINDS:
        return _KINDS[code](
            f"{cluster} refused: {words}", hint=_RIGHTS if code == HTTPStatus.FORBIDDEN else None
        )
    is_theirs = code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return (Unreachable if is_theirs else UsageError)(f"{cluster} refused: {words}")


_KINDS: dict[int, type[PrimeError]] = {
    HTTPStatus.FORBIDDEN: NotAllowed,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.GONE: NotFound,
    HTTPStatus.CONFLICT: Conflict,
}
