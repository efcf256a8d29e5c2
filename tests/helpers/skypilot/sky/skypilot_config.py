"""The configuration."""

from typing import Any

from . import world


def get_effective_workspace_region_config(*, cloud: str, **_words: Any) -> str | None:
    return "NO_UPLOAD" if cloud in world.read()["no_upload"] else None
