"""A scripted Kubernetes API over a socket: objects, watches, and commands that really run.

It keeps what is sent and answers as the API does. A pod runs at once unless a test gives it other
states; its commands are processes of this machine with a /tmp of the server's.
"""

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.helpers.pod_commands import follow_command, kill_command, start_command

NAMESPACE = "boxes"
_LONGEST_LINE = 1 << 20
_GROUP = "agents.x-k8s.io"

Manifest = dict[str, Any]
RUNNING: Manifest = {
    "phase": "Running",
    "containerStatuses": [
        {"name": "sandbox", "state": {"running": {"startedAt": "2126-01-01T00:00:00Z"}}}
    ],
}


def waiting(reason: str, message: str, *, container: str = "sandbox") -> Manifest:
    """The state of a pod whose container waits."""
    state = {"waiting": {"reason": reason, "message": message}}
    its = "initContainerStatuses" if container == "probe" else "containerStatuses"
    return {"phase": "Pending", its: [{"name": container, "state": state}]}


def probed(code: int, reason: str = "Error", message: str | None = None) -> Manifest:
    """The state of a pod whose probe ended with an exit code."""
    words = {"reason": reason if code else "Completed", "message": message}
    state = {"terminated": {**words, "exitCode": code}}
    probe = {"initContainerStatuses": [{"name": "probe", "state": state}]}
    return {"phase": "Failed" if code else "Pending", **probe}


@dataclass
class Refusal:
    """An answer to the next requests of a method whose path contains `part`."""

    method: str
    part: str
    status: int
    message: str = "no"
    retry_after: str | None = None
    times: int = 1
    keeps: bool = False
    """Whether the request is done nevertheless, as when an answer is lost."""


@dataclass
class ScriptedCluster:
    """What a test tells the server, and what the server has been sent."""

    tmp: Path
    version: str | None = None
    """Of agent-sandbox; None where it is not installed."""
    states: Sequence[Manifest] = (RUNNING,)
    change: Callable[[Manifest], None] = lambda _manifest: None
    """What the cluster makes of an object before it accepts it."""
    protocols: tuple[str, ...] = ("v5.channel.k8s.io", "v4.channel.k8s.io")
    waits_for_output: bool = False
    """Whether the end of a command is said only when its output has ended."""
    seconds_are: float = 1.0
    """How long the cluster takes a second for: its controllers end and delete what is over."""
    token: str = "secret-token"
    refusals: list[Refusal] = field(default_factory=list)
    objects: dict[str, Manifest] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    made: list[Manifest] = field(default_factory=list)
    url: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _watchers: list["asyncio.Queue[Manifest]"] = field(default_factory=list)
    _processes: dict[str, list["subprocess.Popen[bytes]"]] = field(default_factory=dict)
    _events: list[tuple[int, Manifest]] = field(default_factory=list)
    _controllers: "set[asyncio.Task[None]]" = field(default_factory=set)
    _versions: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    # --- What a test does ---

    def set_status(self, name: str, status: Manifest) -> None:
        """Change the state of the pod of an object, from another thread."""
        work = self._apply(self._find_pod(name), status)
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def delete_pod(self, name: str) -> None:
        """Delete the pod of an object, as somebody else may."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{self._find_pod(name)}"
        asyncio.run_coroutine_threadsafe(self._remove(path), self._loop).result(10)

    def _find_pod(self, name: str) -> str:
        pods = [each["metadata"] for each in self.objects.values() if each["kind"] == "Pod"]
        return next(str(each["name"]) for each in pods if each["name"].startswith(name))

    def kinds(self) -> list[str]:
        """The kinds of all objects that exist, sorted."""
        return sorted(each["kind"] for each in self.objects.values())

    def kubeconfig(self, folder: Path, *, token: str | None = None) -> Path:
        """The file by which kubectl would find it."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": token or self.token}}],
            "contexts": [
                {"name": "lab", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}
            ],
        }
        file = folder / "kubeconfig.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        return file

    # --- Objects ---

    def app(self) -> web.Application:
        """The application."""
        app = web.Application(middlewares=[self._refuse])
        base = "/{root:api|apis}/{group:.*}namespaces/{namespace}/{kind}"
        app.add_routes(
            [
                web.get(f"/apis/{_GROUP}", self._discover),
                web.get(
                    "/{root:api}/{group:.*}namespaces/{namespace}/pods/{name}/exec", self._exec
                ),
                web.get(base, self._list),
                web.post(base, self._create),
                web.get(base + "/{name}", self._get),
                web.delete(base + "/{name}", self._delete),
            ]
        )
        return app

    @web.middleware
    async def _refuse(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append((request.method, request.path_qs))
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized")
        for each in self.refusals:
            if each.method == request.method and each.part in request.path_qs and each.times:
                each.times -= 1
                if each.keeps:
                    await handler(request)
                after = {"Retry-After": each.retry_after} if each.retry_after else {}
                return _status(each.status, each.message, after)
        if request.match_info.get("namespace", NAMESPACE) != NAMESPACE:
            return _status(404, f'namespaces "{request.match_info["namespace"]}" not found')
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _discover(self, _request: web.Request) -> web.Response:
        if self.version is None:
            return _status(404, "the server could not find the requested resource")
        return web.json_response({"versions": [{"version": self.version}]})

    async def _create(self, request: web.Request) -> web.Response:
        manifest = await request.json()
        path = f"{request.path}/{manifest['metadata']['name']}"
        if path in self.objects:
            return _status(409, f'"{manifest["metadata"]["name"]}" already exists')
        accepted = json.loads(json.dumps(manifest))
        self.change(accepted)
        if request.query.get("dryRun") == "All":
            return web.json_response(accepted, status=201)
        self.made.append(manifest)
        self._store(path, accepted)
        spec, metadata = accepted.get("spec", {}), accepted["metadata"]
        if accepted["kind"] == "Sandbox":
            await self._run(spec["podTemplate"], metadata["name"], metadata)
            shutdown = datetime.fromisoformat(spec["shutdownTime"]).timestamp()
            self._later(shutdown - time.time(), partial(self._remove_if_there, path))
        elif accepted["kind"] == "Job":
            await self._run(spec["template"], f"{metadata['name']}-x7k2p", metadata)
            self._later(spec["activeDeadlineSeconds"], partial(self._end_job, path))
        return web.json_response(accepted, status=201)

    def _later(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds * self.seconds_are)
            await work()

        self._controllers.add(self._loop.create_task(wait()))

    async def _end_job(self, path: str) -> None:
        """As the controllers of jobs do at the deadline, and after its end."""
        if path in self.objects:
            job = self.objects[path]
            await self._remove_owned(job["metadata"]["uid"], kinds=("Pod",))
            kept = job["spec"]["ttlSecondsAfterFinished"]
            self._later(kept, partial(self._remove_if_there, path))

    async def _remove_if_there(self, path: str) -> None:
        if path in self.objects:
            await self._remove(path)

    def _store(self, path: str, manifest: Manifest) -> None:
        metadata = manifest["metadata"]
        metadata.setdefault("uid", f"uid-{next(self._versions)}")
        metadata["resourceVersion"] = str(next(self._versions))
        self.objects[path] = manifest

    async def _run(self, template: Manifest, name: str, owner: Manifest) -> None:
        owned = {"name": name, "ownerReferences": [{"uid": owner["uid"]}]}
        metadata = {**template["metadata"], **owned}
        pod = {"kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        self._store(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}", pod)
        self._tell("ADDED", pod)
        for status in self.states:
            await self._apply(name, status)

    async def _apply(self, name: str, status: Manifest) -> None:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}"
        pod = {**self.objects[path], "status": status}
        if status["phase"] != "Pending":
            pod["spec"] = {**pod["spec"], "nodeName": "node-1"}
        self._store(path, pod)
        self._tell("MODIFIED", pod)
        if status["phase"] in ("Succeeded", "Failed"):
            self._kill(name)

    def _tell(self, kind: str, pod: Manifest) -> None:
        event = {"type": kind, "object": pod}
        self._events.append((int(pod["metadata"]["resourceVersion"]), event))
        for queue in self._watchers:
            queue.put_nowait(event)

    async def _get(self, request: web.Request) -> web.Response:
        if request.path not in self.objects:
            return _status(404, "not found")
        return web.json_response(self.objects[request.path])

    async def _delete(self, request: web.Request) -> web.Response:
        found = self.objects.get(request.path)
        if found is None:
            return _status(404, "not found")
        await self._remove(request.path)
        return web.json_response(found)

    async def _remove(self, path: str) -> None:
        found = self.objects.pop(path)
        uid = found["metadata"]["uid"]
        if found["kind"] == "Pod":
            self._kill(found["metadata"]["name"])
            found["metadata"]["resourceVersion"] = str(next(self._versions))
            self._tell("DELETED", found)
        await self._remove_owned(uid)

    async def _remove_owned(self, uid: str, kinds: Container[str] | None = None) -> None:
        for each, other in list(self.objects.items()):
            owners = {owner["uid"] for owner in other["metadata"].get("ownerReferences", ())}
            if uid in owners and (kinds is None or other["kind"] in kinds):
                await self._remove(each)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            return await self._watch(request)
        label = request.query.get("labelSelector", "")
        items = [
            each
            for path, each in self.objects.items()
            if path.rpartition("/")[0] == request.path and label in each["metadata"]["labels"]
        ]
        version = {"resourceVersion": str(next(self._versions))}
        return web.json_response({"metadata": version, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[Manifest] = asyncio.Queue()
        since = int(request.query["resourceVersion"])
        for version, event in self._events:
            if version > since:
                queue.put_nowait(event)
        self._watchers.append(queue)
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            with suppress(ConnectionError):
                while True:
                    await response.write(json.dumps(await queue.get()).encode() + b"\n")
        finally:
            self._watchers.remove(queue)
        return response

    # --- Commands ---

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}"
        pod = self.objects.get(path)
        if pod is None:
            return _status(404, f'pods "{name}" not found')
        if pod["status"]["phase"] != "Running":
            return _status(400, "cannot exec into a container in a completed pod")
        socket = web.WebSocketResponse(protocols=self.protocols)
        await socket.prepare(request)
        argv = request.query.getall("command")
        await self._execute(socket, pod, argv, stdin=request.query["stdin"] == "true")
        await socket.close()
        return socket

    async def _execute(
        self, socket: web.WebSocketResponse, pod: Manifest, argv: list[str], *, stdin: bool
    ) -> None:
        process = start_command(argv, self.tmp, self._variables(pod), stdin=stdin)
        self._processes.setdefault(pod["metadata"]["name"], []).append(process)
        try:
            status = await follow_command(socket, process, waits_for_output=self.waits_for_output)
        finally:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        with suppress(ConnectionError):
            await socket.send_bytes(b"\x03" + json.dumps(status).encode())

    def _variables(self, pod: Manifest) -> dict[str, str]:
        container, *_ = pod["spec"]["containers"]
        found = {"PATH": os.environ["PATH"], "HOME": "/tmp"}
        for each in container.get("envFrom", ()):
            secret = self.objects[
                f"/api/v1/namespaces/{NAMESPACE}/secrets/{each['secretRef']['name']}"
            ]
            found |= secret["stringData"]
        return found

    def _kill(self, name: str) -> None:
        for process in self._processes.pop(name, []):
            kill_command(process)

    def close(self) -> None:
        """Kill what its pods have started."""
        for name in list(self._processes):
            self._kill(name)
        shutil.rmtree(self.tmp, ignore_errors=True)


def _status(code: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    content = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return web.json_response(content, status=code, headers=headers)


@contextmanager
def scripted_cluster(tmp: Path, **script: Any) -> Iterator[ScriptedCluster]:
    """A server in a thread of its own, which ends with the block."""
    tmp.mkdir(parents=True, exist_ok=True)
    cluster = ScriptedCluster(tmp, **script)
    started = threading.Event()
    stopping = asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(
            cluster.app(), max_line_size=_LONGEST_LINE, shutdown_timeout=0.1, access_log=None
        )
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        cluster.url = f"http://127.0.0.1:{port}"
        started.set()
        await stopping.wait()
        cluster.close()
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def run() -> None:
        asyncio.set_event_loop(cluster._loop)
        cluster._loop.run_until_complete(serve())
        cluster._loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert started.wait(10)
        yield cluster
    finally:
        cluster._loop.call_soon_threadsafe(stopping.set)
        thread.join(20)
