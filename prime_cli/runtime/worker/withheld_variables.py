"""An os.environ that notes which withheld variables the code requests.

The parent lists the names it withheld, without their values. Lookups by name are noted (`[]`,
`get`, `in`, `pop`, os.getenv) in this process; copying everything requests nothing.

Also loaded on its own by `try_import.py`: nothing of this package is imported here.
"""

import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Optional

OnAsk = Callable[[str, Optional[str]], None]
"""Called once per name, with the top-level module that requested it, None if unknown."""

OWN = "_prime_worker"
# Clients that look for a key not needed for anything they do here.
WITHOUT_NEED = {
    ("openai", "OPENAI_ADMIN_KEY"),
    ("openai", "OPENAI_WEBHOOK_SECRET"),
    ("anthropic", "ANTHROPIC_WEBHOOK_SIGNING_KEY"),
}


def watch(
    secret: Iterable[str], others: Iterable[str], modules: Iterable[str], on_ask: OnAsk
) -> None:
    """Call `on_ask` for each of these names that code requests while it is unset.

    A `secret` may be requested by any code except the standard library's; for `others`, which
    libraries look for by the dozen, only code of `modules`, the environment's own, counts.
    """
    watcher = _Watcher(frozenset(secret), frozenset(others), frozenset(modules), on_ask)
    if not watcher.names:
        return

    class Environ(os._Environ):  # type: ignore[type-arg]  # noqa: SLF001 - all of it is to stay as it is
        """The former os.environ, with all its methods; existing references see this class too."""

        def __getitem__(self, key: Any) -> Any:
            try:
                return super().__getitem__(key)
            except KeyError:
                watcher.missed(key, sys._getframe(1))  # noqa: SLF001
                raise

    os.environ.__class__ = Environ
    if sys.platform != "win32":
        os.environb.__class__ = Environ


class _Watcher:
    """What to watch for, and what was noted so far."""

    def __init__(
        self,
        secret: frozenset[str],
        others: frozenset[str],
        modules: frozenset[str],
        on_ask: OnAsk,
    ) -> None:
        self.names = secret | others
        self._secret = secret
        self._modules = modules
        self._on_ask = on_ask
        self._noted: set[str] = set()
        # A forked child has no channel to the parent, and its lock may be held forever.
        self._pid = os.getpid()

    def missed(self, key: Any, frame: Optional[FrameType]) -> None:
        """Note `key`, which is not set, if it was withheld and this code counts."""
        name = os.fsdecode(key) if isinstance(key, bytes) else key
        if name not in self.names or name in self._noted or os.getpid() != self._pid:
            return
        asker = asker_of(frame)
        if asker == OWN or (asker, name) in WITHOUT_NEED:
            return
        if name in self._secret or asker in self._modules:
            self._noted.add(name)
            self._on_ask(name, asker)


def asker_of(frame: Optional[FrameType]) -> Optional[str]:
    """The top-level module of the nearest frame outside the standard library."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module and module not in sys.stdlib_module_names:
            return module
        frame = frame.f_back
    return None
