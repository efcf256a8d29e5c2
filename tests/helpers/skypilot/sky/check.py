"""Credentials."""

from typing import Any

from . import world


def get_cloud_credential_file_mounts(excluded: list[Any]) -> dict[str, str]:
    mounts: dict[str, str] = world.read()["credentials"]
    return {file: cloud for file, cloud in mounts.items() if cloud not in excluded}
