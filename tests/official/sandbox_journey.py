"""Every method of a release of the official SDK that a hub serves; run in a venv of its own.

Prints one JSON object: what each did, by name.
"""

import inspect
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import prime_sandboxes
from prime_sandboxes import APIClient, CreateSandboxRequest, SandboxClient

# Some methods are of some releases alone.
client: Any = SandboxClient(APIClient())
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
note("wait-for-many", lambda: client.bulk_wait_for_creation([box]))
note("timeout", lambda: client.execute_command(box, "sleep 20", timeout=1))
source = Path(tempfile.mkdtemp()) / "source"
source.write_bytes(os.urandom(100_000))
back = source.with_name("back")
note("upload", lambda: client.upload_file(box, "/tmp/a/b.bin", str(source)))
note("download", lambda: client.download_file(box, "/tmp/a/b.bin", str(back)))
said["same"] = source.read_bytes() == back.read_bytes()
note("upload-bytes", lambda: client.upload_bytes(box, "/tmp/b", b"bytes", "b"))
note("download-missing", lambda: client.download_file(box, "/nowhere", str(back)))
if hasattr(client, "read_file"):
    note("read", lambda: client.read_file(box, "/etc/passwd"))
    note("read-missing", lambda: client.read_file(box, "/nowhere"))
    client.execute_command(box, "head -c 11000000 /dev/zero > /tmp/large")
    note("read-large", lambda: client.read_file(box, "/tmp/large"))
note("logs", lambda: client.get_logs(box))
said["listed"] = client.list(labels=["journey"]).total
started = client.start_background_job(box, "echo begun; sleep 0.2; exit 4")
for _ in range(50):
    seen = client.get_background_job(box, started)
    if seen.completed:
        break
    time.sleep(0.2)
said["background"] = [seen.completed, seen.exit_code, seen.stdout]
if hasattr(client, "run_background_job"):
    job = client.run_background_job(box, "echo job", timeout=30)
    said["job"] = [job.completed, job.stdout]
if "image" not in inspect.signature(client.create).parameters:
    other = CreateSandboxRequest(name="j", docker_image="ubuntu:22.04", **wish)
    note("other-image", lambda: client.create(other))
ssh_session = getattr(client, "create_ssh_session", None)
takes = inspect.signature(ssh_session).parameters if ssh_session else {}
ssh = {"public_key": "ssh-ed25519 AAAA me"} if "public_key" in takes else {}
# What a sandbox does not have here is refused, in the words that the client shows.
for name, ask in {
    "expose": lambda: client.expose(box, 8000),
    "unexpose": lambda: client.unexpose(box, "1"),
    "list_exposed_ports": lambda: client.list_exposed_ports(box),
    "list_all_exposed_ports": getattr(client, "list_all_exposed_ports", None),
    "create_ssh_session": lambda: client.create_ssh_session(box, **ssh),
    "close_ssh_session": lambda: client.close_ssh_session(box, "1"),
    "is_vm": lambda: client.is_vm(box),
    "get_network": lambda: client.get_network(box),
    "set_network": lambda: client.set_network(box, allow=["pypi.org"]),
    "get_sandbox_statuses": lambda: client.get_sandbox_statuses([box]),
    "get_background_job_status": lambda: client.get_background_job_status(box, started),
    "get_background_job_statuses": lambda: client.get_background_job_statuses([started]),
    "get_background_jobs": lambda: client.get_background_jobs([started]),
    "checkpoint": lambda: client.checkpoint(box),
    "list_checkpoints": lambda: client.list_checkpoints(box),
    "get_checkpoint": lambda: client.get_checkpoint("1"),
    "get_checkpoints": lambda: client.get_checkpoints(["1"]),
    "wait_for_checkpoint": lambda: client.wait_for_checkpoint("1", timeout_seconds=5),
    "delete_checkpoint": lambda: client.delete_checkpoint("1"),
    "delete_sandbox_checkpoints": lambda: client.delete_sandbox_checkpoints(box),
    "list_lan_networks": getattr(client, "list_lan_networks", None),
    "create_lan_network": lambda: client.create_lan_network("lan"),
    "get_lan_network": lambda: client.get_lan_network("1"),
    "set_lan_rules": lambda: client.set_lan_rules("1", []),
    "add_lan_member": lambda: client.add_lan_member("1", box),
    "remove_lan_member": lambda: client.remove_lan_member("1", box),
    "delete_lan_network": lambda: client.delete_lan_network("1"),
    "clear_auth_cache": client.clear_auth_cache,
}.items():
    if hasattr(client, name):
        note(name, ask)
if hasattr(prime_sandboxes, "ImageClient"):
    images: Any = prime_sandboxes.ImageClient()
    moved = {"mode": "explicit", "updates": [{"source": {"reference": "a:1"}, "set": {"tag": "2"}}]}
    update = prime_sandboxes.UpdateImagesRequest.model_validate(moved)
    for name, ask in {
        "list": getattr(images, "list", None),
        "transfer_image": lambda: images.transfer_image("alpine:3"),
        "start_build": lambda: images.start_build("1"),
        "build_vm_image": lambda: images.build_vm_image("a", "1"),
        "get_build_status": lambda: images.get_build_status("1"),
        "update_images": lambda: images.update_images(update),
    }.items():
        if hasattr(images, name):
            note(f"images.{name}", ask)
if hasattr(client, "volumes"):
    for name, ask in {
        "create": lambda: client.volumes.create("v"),
        "list": client.volumes.list,
        "get": lambda: client.volumes.get("v"),
        "delete": lambda: client.volumes.delete("v"),
        "publish": lambda: client.volumes.publish(box, "v"),
    }.items():
        note(f"volumes.{name}", ask)
if hasattr(prime_sandboxes, "TemplateClient"):
    templates: Any = prime_sandboxes.TemplateClient()
    note("check-image", lambda: templates.check_docker_image("python:3.11-slim"))
    note("credentials", templates.list_registry_credentials)
stranger = SandboxClient(APIClient(api_key="not-a-key"))
note("unknown-key", stranger.list)
client.execute_command(box, "kill -9 -1")
note("after-end", lambda: client.execute_command(box, "true"))
said["status"] = client.get(box).status
note("delete", lambda: client.delete(box))
two = [create(labels=["two"]) for _ in range(2)]
said["bulk"] = sorted(client.bulk_delete(labels=["two"]).succeeded) == sorted(two)
note("missing", lambda: client.get("none"))
json.dump(said, sys.stdout)
