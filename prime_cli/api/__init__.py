"""The client of an environments hub, over a socket or in process; the only importer of httpx."""

import sys
from types import ModuleType

_COMMAND_LINE = "httpx._main"


def _import_httpx() -> None:
    """Import httpx without its command line, which loads click, rich and pygments where they are.

    Of 147 ms CPU that `import httpx` took, this was 55, on every command that asks a hub.
    """
    if "httpx" in sys.modules:
        return
    stub = ModuleType(_COMMAND_LINE)
    stub.main = lambda: sys.exit("httpx was imported without its command line")  # type: ignore[attr-defined]
    sys.modules[_COMMAND_LINE] = stub
    try:
        import httpx  # noqa: F401
    finally:
        del sys.modules[_COMMAND_LINE]


_import_httpx()
