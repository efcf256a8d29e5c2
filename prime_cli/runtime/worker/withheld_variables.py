"""os.environ that notes which variables the code asks for and was not given.

The parent names those that it kept back, without their values. A lookup by name is noted (`[]`,
`get`, `in`, `pop`, os.getenv), in this process; a copy of everything asks for nothing.

Also read by itself, by `try_import.py`: nothing of this package is imported here.
"""

import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Optional

OnAsk = Callable[[str, Optional[str]], None]
"""Told a name, once, and the top-level module whose code asked, None where none is known."""

OWN = "_prime_worker"
# Clients that look for a key which nothing they are used for here needs.
WITHOUT_NEED = {
    ("openai", "OPENAI_ADMIN_KEY"),
    ("openai", "OPENAI_WEBHOOK_SECRET"),
    ("anthropic", "ANTHROPIC_WEBHOOK_SIGNING_KEY"),
}


def watch(
    secret: Iterable[str], others: Iterable[str], modules: Iterable[str], on_ask: OnAsk
) -> None:
    """Tell `on_ask` of each of these names that code asks for while it is not set.

    Any code but the standard library's asks for a `secret`; for `others`, which libraries look for
    by the dozen, only code of `modules`, the environment's own.
    """
    watcher = _Watcher(frozenset(secret), frozenset(others), frozenset(modules), on_ask)
    if not watcher.names:
        return

    class Environ(os._Environ):  # type: ignore[type-arg]  # noqa: SLF001 - all of it is to stay as it is
        """What os.environ was, with all its methods; whoever holds it already holds this."""

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
    """What is watched for, and what was noted so far."""

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
        # A child that is forked has no line to the parent: its lock may be held for ever.
        self._pid = os.getpid()

    def missed(self, key: Any, frame: Optional[FrameType]) -> None:
        """Note `key`, which is not set, where it was kept back and this code is to be heard."""
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
    """The top-level module of the nearest frame that is not the standard library's."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module and module not in sys.stdlib_module_names:
            return module
        frame = frame.f_back
    return None
