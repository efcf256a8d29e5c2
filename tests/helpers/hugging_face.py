"""A Hugging Face Hub on this machine: the few endpoints that a push of a data set meets.

Paths and bodies are those of huggingface_hub 0.30 to 2.4. Parquet goes the way of large files (Git
LFS, basic transfer: the client needs HF_HUB_DISABLE_XET), anything else inside the commit.
"""

import base64
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

OWNER = "ada"


@dataclass
class Dataset:
    """One data set: its files by path, and the messages of its commits."""

    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)


class HuggingFace:
    """The server while the `with` block lasts; `refuse` is the status that creation ends in."""

    def __init__(self) -> None:
        self.datasets: dict[str, Dataset] = {}
        self.large: dict[str, bytes] = {}
        self.keys: set[str] = set()
        self.refuse = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """The status and the JSON for one request; the path is without its query."""
        parts = path.strip("/").split("/")
        status: int = 200
        answer: Any = {}
        match (method, *parts):
            case ("POST", "api", "repos", "create"):
                status, answer = self._create(json.loads(body))
            case ("POST", "api", "validate-yaml"):
                answer = {"errors": [], "warnings": []}
            case ("GET", "api", "datasets", owner, name, "tree", "main"):
                files = self.datasets[f"{owner}/{name}"].files
                answer = [_entry(path, content) for path, content in files.items()]
            case ("GET", "api", "datasets", owner, name) if f"{owner}/{name}" in self.datasets:
                private = self.datasets[f"{owner}/{name}"].private
                answer = {"id": f"{owner}/{name}", "private": private}
            case ("GET", "api", "datasets", owner, name, "revision", "main"):
                answer = {"id": f"{owner}/{name}", "sha": "0" * 40, "xetEnabled": False}
            case ("POST", "api", "datasets", _, _, "preupload", "main"):
                answer = {"files": [_mode(each) for each in json.loads(body)["files"]]}
            case ("POST", "datasets", _, _, "info", "lfs", "objects", "batch"):
                answer = self._batch(json.loads(body))
            case ("PUT", "large", digest):
                self.large[digest] = body
            case ("POST", "api", "datasets", owner, name, "commit", "main"):
                answer = self._commit(f"{owner}/{name}", body)
            case _:
                status, answer = 404, {"error": f"no such endpoint: {method} {path}"}
        return status, answer

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        if self.refuse:
            return self.refuse, {"error": "You don't have the rights to create a dataset"}
        name = f"{asked.get('organization') or OWNER}/{asked['name']}"
        told = {"url": f"{self.url}/datasets/{name}", "name": name}
        if name in self.datasets:
            return 409, {"error": "You already created this dataset repo", **told}
        private = asked.get("private") or asked.get("visibility") == "private"
        self.datasets[name] = Dataset(private=bool(private))
        return 200, told

    def _batch(self, asked: dict[str, Any]) -> dict[str, Any]:
        objects = [
            each | {"actions": {"upload": {"href": f"{self.url}/large/{each['oid']}"}}}
            for each in asked["objects"]
        ]
        return {"transfer": "basic", "objects": objects}

    def _commit(self, name: str, body: bytes) -> dict[str, Any]:
        dataset = self.datasets[name]
        for line in body.splitlines():
            told = json.loads(line)
            value = told["value"]
            match told["key"]:
                case "header":
                    dataset.commits.append(value["summary"])
                case "file":
                    dataset.files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    dataset.files[value["path"]] = self.large[value["oid"]]
                case "deletedFile":
                    del dataset.files[value["path"]]
        url = f"{self.url}/datasets/{name}/commit/{'0' * 40}"
        return {"success": True, "commitOid": "0" * 40, "commitUrl": url}


def _entry(path: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(content), "oid": "1" * 40}


def _mode(each: dict[str, Any]) -> dict[str, Any]:
    mode = "lfs" if each["path"].endswith(".parquet") else "regular"
    return {"path": each["path"], "uploadMode": mode, "shouldIgnore": False}


def _handler(hub: HuggingFace) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._serve()

        def do_GET(self) -> None:
            self._serve()

        def do_PUT(self) -> None:
            self._serve()

        def _serve(self) -> None:
            body = _body_of(self)
            key = self.headers.get("authorization", "").removeprefix("Bearer ")
            if key:
                hub.keys.add(key)
            path = self.path.partition("?")[0].replace(".git/", "/")
            status, answer = hub.answer(self.command, path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _body_of(request: BaseHTTPRequestHandler) -> bytes:
    if "content-length" in request.headers:
        return request.rfile.read(int(request.headers["content-length"]))
    content, size = b"", 1
    while size and request.headers.get("transfer-encoding") == "chunked":
        size = int(request.rfile.readline(), 16)
        content += request.rfile.read(size)
        request.rfile.readline()
    return content
