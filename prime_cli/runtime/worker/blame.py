"""What an exception says is missing: a name of verifiers, or of which other package.

Imported by `try_import` without its package, so that it imports nothing beside it.
"""

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

LIBRARY = "verifiers"
_INSIDE = f"/site-packages/{LIBRARY}/"
_CALLED = re.compile(r"(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)\(\)")
_ABSTRACT = "Can't instantiate abstract class"
_OF_MODULE = re.compile(r"module '([\w.]+)'")


def is_about_library(error: BaseException) -> bool:
    """Whether it is about the API of verifiers: a name, a signature, or what its code raises."""
    if lacking(error) == LIBRARY:
        return True
    if isinstance(error, TypeError) and (_ABSTRACT in str(error) or _calls_library(str(error))):
        return True
    return _ends_inside(error)


def lacking(error: BaseException) -> "str | None":
    """The package whose module or attribute was not found; None if that is not what it says."""
    if isinstance(error, ImportError):
        return (error.name or "").split(".")[0] or None
    if not isinstance(error, AttributeError):
        return None
    # Before 3.12 a module does not say that it is the object.
    named = _OF_MODULE.search(str(error))
    return named[1].split(".")[0] if named else _owner(getattr(error, "obj", None))


def _owner(subject: Any) -> str:
    if isinstance(subject, ModuleType):
        return subject.__name__.split(".")[0]
    kind = subject if isinstance(subject, type) else type(subject)
    owners = [base.__module__.split(".")[0] for base in kind.__mro__]
    return LIBRARY if LIBRARY in owners else owners[0]


def _calls_library(message: str) -> bool:
    """Whether `Rubric.__init__() got an unexpected keyword argument` is about verifiers."""
    called = _CALLED.search(message)
    return called is not None and (called[1] or called[2]) in set(_names_of_library())


def _names_of_library() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == LIBRARY:
            yield from (each for each in vars(module) if not each.startswith("_"))


def _ends_inside(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return _INSIDE in file.replace("\\", "/")
