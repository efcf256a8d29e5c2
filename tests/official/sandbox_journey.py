"""Every method of a release of the official SDK that a hub serves; run in a venv of its own.

Prints one JSON object: what each did, by name.
"""

import inspect
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from prime_sandboxes import APIClient, CreateSandboxRequest, SandboxClient

client = SandboxClient(APIClient())
fields = CreateSandboxRequest.model_fields
wish: dict[str, Any] = {"vm": False} if "vm" in fields else {}
said: dict[str, Any] = {}


def note(name: str, call: Any) -> Any:
    """The result, or the name of the exception."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - its name is what is compared
        said[name] = type(error).__name__
        return None
    said[name] = "ok"
    return result


def create(**more: Any) -> str:
    """The id of a new sandbox."""
    asked = CreateSandboxRequest(name="j", docker_image="python:3.11-slim", **wish, **more)
    made = client.create(asked)
    client.wait_for_creation(made.id)
    return str(made.id)


box = create(labels=["journey"])
done = client.execute_command(box, "echo out; echo err >&2; exit 3", env={"A": "1"})
said["command"] = [done.stdout, done.stderr, done.exit_code]
note("timeout", lambda: client.execute_command(box, "sleep 20", timeout=1))
source = Path(tempfile.mkdtemp()) / "source"
source.write_bytes(os.urandom(100_000))
back = source.with_name("back")
note("upload", lambda: client.upload_file(box, "/tmp/a/b.bin", str(source)))
note("download", lambda: client.download_file(box, "/tmp/a/b.bin", str(back)))
said["same"] = source.read_bytes() == back.read_bytes()
note("read", lambda: client.read_file(box, "/etc/passwd"))
note("read-missing", lambda: client.read_file(box, "/nowhere"))
note("logs", lambda: client.get_logs(box))
said["listed"] = client.list(labels=["journey"]).total
if hasattr(client, "run_background_job"):
    job = client.run_background_job(box, "echo job", timeout=30)
    said["job"] = [job.completed, job.stdout]
if "image" not in inspect.signature(client.create).parameters:
    other = CreateSandboxRequest(name="j", docker_image="ubuntu:22.04", **wish)
    note("other-image", lambda: client.create(other))
client.execute_command(box, "kill -9 -1")
note("after-end", lambda: client.execute_command(box, "true"))
said["status"] = client.get(box).status
note("delete", lambda: client.delete(box))
two = [create(labels=["two"]) for _ in range(2)]
said["bulk"] = sorted(client.bulk_delete(labels=["two"]).succeeded) == sorted(two)
note("missing", lambda: client.get("none"))
json.dump(said, sys.stdout)
