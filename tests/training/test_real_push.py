"""TRL's engine pushes a trained model by Hugging Face's own client, to a server on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from prime_cli.core.errors import EngineFailed
from prime_cli.runs.folder import RunFolder
from tests.helpers.environments import small_interpreter
from tests.helpers.training import train_scripted
from tests.training.test_real_training import PLAN, VOWELS

pytestmark = [pytest.mark.slow, pytest.mark.network]


class Hub(BaseHTTPRequestHandler):
    """Takes repositories and commits whose files travel in the commit; refuses if told so."""

    asked: ClassVar[list[tuple[str, str | None, bytes]]] = []
    refuses: ClassVar[set[str]] = set()

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        path = self.path.partition("?")[0]
        self.asked.append((path, self.headers["authorization"], body))
        if path.rpartition("/")[0].rpartition("/")[2] in self.refuses:
            self._answer(403, {"error": "no write access"})
        elif path.endswith("/preupload/main"):
            files = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in json.loads(body)["files"]
            ]
            self._answer(200, {"files": files})
        else:
            url = f"http://{self.headers['host']}/ada/sorter"
            self._answer(200, {"url": url, "commitUrl": url + "/commit/1", "commitOid": "1"})

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["authorization"], b""))
        self._answer(200, {"id": "ada/sorter", "sha": "0" * 40, "siblings": []})

    def _answer(self, status: int, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def test_a_refused_push_is_made_up_for_by_a_resume(
    tmp_path: Path, trl: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_user")
    monkeypatch.setenv("PRIME_API_KEY", "key_of_the_hub")
    interpreter = small_interpreter(tmp_path, VOWELS)
    plan: dict[str, Any] = {**PLAN, **trl, "batch": 2, "steps": 2, "push_to_hub": "ada/sorter"}
    parent = tmp_path / "run"
    Hub.refuses = {"commit"}
    with pytest.raises(EngineFailed, match="Cannot push to ada/sorter"):
        train_scripted(interpreter, parent, **plan)
    (path,) = parent.iterdir()
    Hub.refuses = set()
    Hub.asked.clear()
    trained = train_scripted(interpreter, parent, resumed=RunFolder(path), **plan)
    server.shutdown()
    server.server_close()
    assert trained.result.is_whole
    made = next(body for path, _, body in Hub.asked if path == "/api/repos/create")
    assert json.loads(made)["visibility"] == "private"
    commit = next(body for path, _, body in Hub.asked if "/commit/" in path)
    lines = [json.loads(line) for line in commit.splitlines()]
    files = {line["value"]["path"] for line in lines if line["key"] == "file"}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= files
    assert {key for _, key, _ in Hub.asked} == {"Bearer hf_of_the_user"}
    assert b"key_of_the_hub" not in b"".join(body for _, _, body in Hub.asked)
