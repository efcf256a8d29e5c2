"""The exception of a release of the official SDK for each failure; run in a venv of its own.

Its argument is a JSON object: `ended` has the ids of sandboxes by how they ended, and `run` the
address and token of a run whose hub refuses a creation, first with 402, then with 429, and then no
more. Prints one JSON object: the names of the exceptions.
"""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from prime_sandboxes import APIClient, CreateSandboxRequest, SandboxClient

given = json.loads(sys.argv[1])
client: Any = SandboxClient(APIClient())
fields = CreateSandboxRequest.model_fields
wish: dict[str, Any] = {"vm": False} if "vm" in fields else {}
found: dict[str, Any] = {}


def note(name: str, call: Any) -> None:
    """Keep the name of the exception, `ok` for none."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - its name is what is compared
        found[name] = type(error).__name__
    else:
        found[name] = "ok"


def asked(**more: Any) -> Any:
    """A creation."""
    return CreateSandboxRequest(name="e", docker_image="python:3.11-slim", **wish, **more)


def changed(**values: str) -> Any:
    """A client that finds `values` in what the release keeps of sandboxes, in a file."""
    for kept in Path.home().rglob("sandbox_auth_cache.json"):
        places = json.loads(kept.read_text())
        kept.write_text(json.dumps({key: {**each, **values} for key, each in places.items()}))
    return SandboxClient(APIClient())


file = Path.home() / "file"
file.write_bytes(b"bytes")
for name, box in given["ended"].items():
    note(f"{name}: wait", lambda box=box: client.wait_for_creation(box, max_attempts=2))
    note(f"{name}: run", lambda box=box: client.execute_command(box, "true", timeout=10))
    note(f"{name}: upload", lambda box=box: client.upload_file(box, "/tmp/x", str(file)))
    note(f"{name}: download", lambda box=box: client.download_file(box, "/tmp/x", str(file)))
    if hasattr(client, "read_file"):
        note(f"{name}: read", lambda box=box: client.read_file(box, "/tmp/x"))

made = client.create(asked())
client.wait_for_creation(made.id)
note("slow command", lambda: client.execute_command(made.id, "sleep 20", timeout=1))
if hasattr(client, "run_background_job"):
    note("slow job", lambda: client.run_background_job(made.id, "sleep 20", timeout=1))
note("missing local file", lambda: client.upload_file(made.id, "/tmp/x", "/nowhere"))
note("missing remote file", lambda: client.download_file(made.id, "/nowhere", str(file)))
silent = socket.create_server(("127.0.0.1", 0), backlog=64)
"""Connections are made, and nobody answers them."""
place = next(Path.home().rglob("sandbox_auth_cache.json"))
gateway = json.loads(place.read_text())[made.id]["gateway_url"]
nobody = f"http://127.0.0.1:{silent.getsockname()[1]}"
lost = changed(gateway_url=nobody)
note("silent upload", lambda: lost.upload_file(made.id, "/tmp/x", str(file), timeout=1))
note("silent bytes", lambda: lost.upload_bytes(made.id, "/tmp/x", b"b", "b", timeout=1))
note("silent download", lambda: lost.download_file(made.id, "/tmp/x", str(file), timeout=1))
note("silent command", lambda: lost.execute_command(made.id, "true", timeout=1))
alone: Any = APIClient()
alone.base_url = nobody
note("silent hub", lambda: alone.request("GET", "/sandbox", timeout=1))
# As after an hour: the hub no longer knows the token.
later = changed(gateway_url=gateway, token="old")
note("old token", lambda: later.execute_command(made.id, "true", timeout=10))
note("wish that cannot be met", lambda: client.create(asked(timeout_minutes=10**6)))
note("unknown sandbox", lambda: client.get("none"))
note("start command as a text", lambda: asked(start_command="sleep 1000"))
if hasattr(client, "get_sandbox_statuses"):
    states = client.get_sandbox_statuses([made.id, "none"])
    found["states"] = [[each.status for each in states.statuses], [e.code for e in states.errors]]
    found["states"] += [type(each).__name__ for each in states.errors]
client.delete(made.id)

del os.environ["PRIME_API_KEY"]
note("no key", lambda: SandboxClient(APIClient()).list())
note("unknown key", lambda: SandboxClient(APIClient(api_key="not-a-key")).list())
os.environ["PRIME_API_BASE_URL"] = given["run"][0]
within: Any = SandboxClient(APIClient(api_key=given["run"][1]))
note("nothing paid", lambda: within.create(asked()))
note("too many requests", lambda: within.create(asked()))
os.environ["PRIME_CONTEXT"] = "nowhere"
note("context of another program", APIClient)
json.dump(found, sys.stdout)
