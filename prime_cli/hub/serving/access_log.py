"""The access log: one line per request, without secrets, written in batches."""

import os
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from threading import Lock
from typing import Any

import msgspec

from prime_cli.hub.tokens import KEY_PREFIX
from prime_cli.wire.invitations import TOKEN_PREFIX

_MOST = 8 * 1024 * 1024
_STDERR = 2
_UPLOAD = "upload"
_HIDDEN = "-"
_SECRETS = (KEY_PREFIX, TOKEN_PREFIX)


class LogFormat(StrEnum):
    """How the access log is written."""

    JSON = "json"
    TEXT = "text"
    NONE = "none"


class LogEntry(msgspec.Struct, omit_defaults=True):
    """The logged facts of a request; `bytes` are those of the answer's body."""

    time: str
    method: str
    path: str
    status: int
    ms: float
    bytes: int
    address: str
    request_id: str
    user: str | None = None
    key_id: str | None = None
    error: str | None = None


class AccessLog:
    """Lines to be written to a descriptor, by default stderr.

    They are written when `flush` is called: a write for every request would take longer than a
    page. If nobody reads them for long, requests go on and lines are lost, which is logged.
    """

    def __init__(self, style: LogFormat, descriptor: int = _STDERR) -> None:
        self.style = style
        self._descriptor = descriptor
        self._lines = bytearray()
        self._lost = 0
        self._lock = Lock()
        self._render: Callable[[LogEntry], bytes] = (
            _as_json if style == LogFormat.JSON else _as_text
        )

    def add(self, entry: LogEntry) -> None:
        """Add one entry."""
        if self.style == LogFormat.NONE:
            return
        line = self._render(entry)
        with self._lock:
            if len(self._lines) + len(line) > _MOST:
                self._lost += 1
            else:
                self._lines += line

    def flush(self) -> None:
        """Write the pending lines; waits for the reader.

        A reader that has gone is no reason to stop serving.
        """
        with self._lock:
            lines, self._lines = self._lines, bytearray()
            lost, self._lost = self._lost, 0
        if lost:
            lines += msgspec.json.encode({"time": now_text(), "lost_lines": lost}) + b"\n"
        view = memoryview(lines)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            # Nobody reads the log any more, so there is nowhere to report it.
            return


def now_text(seconds: float | None = None) -> str:
    """`2026-11-21T02:16:41.123Z`, of a time in seconds since the epoch."""
    moment = time.time() if seconds is None else seconds
    whole = int(moment)
    return f"{_second_text(whole)}.{int((moment - whole) * 1000):03}Z"


@lru_cache(maxsize=4)
def _second_text(seconds: int) -> str:
    """Thousands of lines are written in the same second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def safe_path(path: str) -> str:
    """`path` without secrets: that of an upload URL, an API key, an invitation."""
    if _UPLOAD not in path and not any(secret in path for secret in _SECRETS):
        return path
    parts = path.split("/")
    for index, part in enumerate(parts):
        after = index > 0 and parts[index - 1] == _UPLOAD
        if (after and part) or any(secret in part for secret in _SECRETS):
            parts[index] = _HIDDEN
    return "/".join(parts)


def trace_of(error: BaseException) -> str:
    """The traceback of a bug. The only values it shows are in the error's own message."""
    return "".join(traceback.format_exception(error))


def _as_json(entry: LogEntry) -> bytes:
    try:
        return msgspec.json.encode(entry) + b"\n"
    except UnicodeEncodeError:  # a path whose escapes are not UTF-8
        return msgspec.json.encode(_printable(entry)) + b"\n"


def _as_text(entry: LogEntry) -> bytes:
    entry = _printable(entry)
    line = (
        f"{entry.time} {entry.address or '-'} {entry.user or '-'} {entry.method} {entry.path} "
        f"{entry.status} {entry.bytes} B {entry.ms} ms {entry.request_id}\n{entry.error or ''}"
    )
    return line.encode()


def _printable(entry: LogEntry) -> LogEntry:
    """Without what a terminal or an encoder would stumble over."""
    shown: Any = ascii(entry.path)[1:-1]
    return msgspec.structs.replace(entry, path=shown, method=ascii(entry.method)[1:-1])
