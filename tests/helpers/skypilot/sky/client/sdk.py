"""Calls as SkyPilot's client has them: most return a request, which `get` answers."""

import sys
from typing import Any

# Absolute names are those of the copy that runs, which is `sky`.
from .. import Task, world  # noqa: TID252
from .. import down as end  # noqa: TID252


def enabled_clouds(*, expand: bool) -> tuple[str, Any]:
    return "enabled", expand


def list_accelerators(*, clouds: list[str], **words: Any) -> tuple[str, str]:
    world.note("list_accelerators", clouds=clouds, **words)
    return "offers", clouds[0]


def status() -> tuple[str, Any]:
    world.note("status")
    return "status", None


def launch(task: Task, *, cluster_name: str, **words: Any) -> str:
    world.note("launch", name=cluster_name, task=task.config, **words)
    return f"launch {cluster_name}"


def down(name: str) -> str:
    world.note("down", name=name)
    return f"down {name}"


def stream_and_get(request: str) -> Any:
    what, _, name = request.partition(" ")
    return world.launch(name) if what == "launch" else end(name)


def tail_logs(_name: str, _job: int, *, follow: bool) -> int:
    sys.stdout.write(f"the setup was watched: {follow}\n")
    return int(world.read()["setup"])


def job_status(_name: str, jobs: list[int]) -> tuple[str, list[int]]:
    return "jobs", jobs


def api_cancel(request: str) -> tuple[str, str]:
    world.note("api_cancel", request=request)
    return "cancel", request.partition(" ")[2]
