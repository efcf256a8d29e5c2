"""Where uv keeps what it downloads, on machines whose home cannot be written."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.paths import prime_home


def spare_cache(environ: Mapping[str, str]) -> Path | None:
    """A cache below prime's home, where uv's usual one cannot be written; else None.

    A job without HOME, or with a read-only one, then needs PRIME_HOME and no more. Where uv keeps
    its cache: https://docs.astral.sh/uv/concepts/cache/#cache-directory.
    """
    if "UV_CACHE_DIR" in environ or "UV_NO_CACHE" in environ or sys.platform == "win32":
        return None
    usual = _usual_cache(environ)
    if usual is not None and _can_be_made(usual):
        return None
    return prime_home() / "uv"


def _usual_cache(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("XDG_CACHE_HOME"):
        return Path(named) / "uv"
    try:
        return Path.home() / ".cache" / "uv"
    except RuntimeError:  # a container's user id that has no home
        return None


def _can_be_made(folder: Path) -> bool:
    """Whether its nearest folder that exists can be written."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return os.access(there, os.W_OK)
