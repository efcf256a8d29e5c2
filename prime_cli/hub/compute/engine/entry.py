"""How a hub connects to a container engine."""

import os
from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.installation import install_command
from prime_cli.hub.compute.provider import PodProvider
from prime_cli.hub.compute.registry import ProviderContext

ENGINE = "engine"


def open_provider(context: ProviderContext) -> PodProvider | None:
    """The provider with the options `images` and `host`; None without options.

    Raises UsageError if there is no engine, or its client package is missing.
    """
    if context.options is None:
        return None
    url = find_engine()
    if url is None:
        raise UsageError(
            "Pods for the users of a hub are containers of Podman or Docker, and neither is "
            "running on this machine",
            hint="`systemctl enable --now podman.socket` starts Podman; DOCKER_HOST names an "
            "engine elsewhere; without `--local-pods` the hub needs none",
        )
    try:
        from prime_cli.hub.compute.engine.provider import EngineProvider
    except ImportError as error:
        raise UsageError(
            f"For pods in containers, the package {error.name} is needed, which is not installed",
            hint=f"install the extra: `{install_command('hub')}`",
        ) from error
    images, host = tuple(context.options["images"]), str(context.options["host"])
    return EngineProvider(url, images, context.data / "engine", host)


def find_engine(environ: Mapping[str, str] = os.environ) -> str | None:
    """The address of the engine: what CONTAINER_HOST or DOCKER_HOST says, else the first socket
    that is there of a user's own Podman or Docker and of the machine's.
    """
    for name in ("CONTAINER_HOST", "DOCKER_HOST"):
        if environ.get(name):
            return environ[name]
    own = environ.get("XDG_RUNTIME_DIR")
    sockets = [Path("/run/podman/podman.sock"), Path("/var/run/docker.sock")]
    if own:
        sockets = [Path(own) / "podman/podman.sock", Path(own) / "docker.sock", *sockets]
    return next((f"unix://{path}" for path in sockets if path.is_socket()), None)
