"""Plugins by name: prime's own, and those that installed packages name by entry points of a group.

Prime's own are given by the code. Its installed metadata are not asked for them: those of an
editable installation can be older than the code.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

_OWN_CODE = "prime_cli."

_log = logging.getLogger(__name__)


def find_plugins(group: str, own: Mapping[str, str] | None = None) -> Mapping[str, EntryPoint]:
    """The plugins of a group in the order of their names; none is imported.

    `own` are prime's, with the objects that they stand for, such as `package.module:function`. No
    package can replace them.
    """
    installed = (each for each in entry_points(group=group) if not _is_own(each))
    points = [*installed, *(EntryPoint(name, value, group) for name, value in (own or {}).items())]
    return {each.name: each for each in sorted(points, key=lambda point: point.name)}


def open_plugins(
    group: str, own: Mapping[str, str], context_of: Callable[[str], object]
) -> Iterator[tuple[str, Any]]:
    """The name of each plugin, and what its function returns for the context of that name.

    A package that is broken is logged and left out; it must not affect the others.
    """
    for point in find_plugins(group, own).values():
        context = context_of(point.name)
        try:
            opened = point.load()(context)
        except Exception:
            if _is_own(point):
                raise
            _log.exception("The provider `%s` of `%s` cannot be opened", point.name, point.value)
        else:
            yield point.name, opened


def _is_own(point: EntryPoint) -> bool:
    return point.value.startswith(_OWN_CODE)
