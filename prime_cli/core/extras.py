"""Packages that only some commands need, installed with an extra of prime-cli."""

import json
from importlib import metadata
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

from prime_cli.core.errors import UsageError


def require(extra: str, purpose: str, *modules: str) -> None:
    """Raise UsageError with the install command unless all `modules` can be imported.

    `purpose` begins the sentence, as in "Writing Parquet"; `extra` is that of pyproject.toml.
    Nothing is imported.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"{purpose} needs {' and '.join(missing)}, which {verb} not installed",
            hint=f"install what is missing: `{install_command(extra)}`",
        )


def install_command(extra: str) -> str:
    """The command that adds an extra to prime, from the source this one was installed from.

    An index may lack prime-cli, or have a different one than a checkout.
    """
    try:
        origin = metadata.distribution("prime-cli").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        origin = None
    return command_from(json.loads(origin) if origin else {}, extra)


def command_from(origin: dict[str, Any], extra: str) -> str:
    """The same, given the contents of direct_url.json (PEP 610); {} for an index."""
    url = urlsplit(str(origin.get("url", "")))
    if url.scheme == "file" and "dir_info" in origin:
        flag = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {flag}'{unquote(url.path)}[{extra}]'"
    return f"pip install 'prime-cli[{extra}]'"
