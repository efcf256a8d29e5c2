"""The variables that lead a supervisor to an engine or a cluster: it keeps those of its start."""

import os
from collections.abc import Mapping

from prime_cli.hub.compute.engine.entry import ADDRESSES
from prime_cli.hub.sandboxes.kubernetes.settings import VARIABLES

_NAMES = (*ADDRESSES, *VARIABLES)


def leading_variables() -> dict[str, str]:
    """Those of this process."""
    return {name: os.environ[name] for name in _NAMES if os.environ.get(name)}


def describe_change(asked: Mapping[str, str] | None) -> str | None:
    """How those of a caller differ from this process's, and what to do; None if they do not."""
    own = leading_variables()
    changed = [name for name in _NAMES if asked is not None and asked.get(name) != own.get(name)]
    if not changed:
        return None
    has, takes = ("has", "takes") if len(changed) == 1 else ("have", "take")
    return (
        f"{' and '.join(changed)} {has} changed since its supervisor was started, and {takes} "
        "effect when no sandbox is left: `prime sandbox delete --all`"
    )
