"""The system's keyring, used only where one is possible, and never allowed to block.

A backend of `keyring` may call a service that is not there, or draw a dialog on a screen that
nobody sees. Calls therefore run in a thread that is abandoned after `SECONDS`.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from prime_cli.core.env_flags import in_ci

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

SERVICE = "prime-cli"
SECONDS = 3.0

_NOT_REAL = ("keyring.backends.null", "keyring.backends.fail", "keyrings.alt")
"""Backends that store nothing, or store keys readable by everyone."""


class NoKeyring(Exception):
    """No keyring can be used; the text is the reason, to end a sentence with."""


def save_key(account: str, key: str, *, seconds: float = SECONDS) -> str:
    """Store `key` in the keyring and return the keyring's name; raises NoKeyring.

    The key is read back to verify it, since some keyrings only claim to store it.
    """

    def ask(backend: "KeyringBackend", given_up: threading.Event) -> str:
        backend.set_password(SERVICE, account, key)
        if given_up.is_set():
            # By now the caller has stored the key elsewhere.
            backend.delete_password(SERVICE, account)
        elif backend.get_password(SERVICE, account) != key:
            raise NoKeyring(f"the keyring ({backend.name}) did not save it")
        return str(backend.name)

    return _ask(ask, seconds)


def load_key(account: str, *, seconds: float = SECONDS) -> str | None:
    """The key in the keyring, None if missing; raises NoKeyring."""
    return _ask(lambda backend, _: backend.get_password(SERVICE, account), seconds)


def delete_key(account: str, *, seconds: float = SECONDS) -> None:
    """Delete the key from the keyring; raises NoKeyring."""

    def ask(backend: "KeyringBackend", _: threading.Event) -> None:
        if backend.get_password(SERVICE, account) is not None:
            backend.delete_password(SERVICE, account)

    _ask(ask, seconds)


def unavailable_reason(
    environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> str:
    """Why no keyring is even tried here; "" if one may be."""
    if in_ci(environ):
        return "a CI job has no keyring"
    if platform in ("win32", "darwin") or environ.get("PYTHON_KEYRING_BACKEND"):
        return ""
    if environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return ""
    return "there is no session bus to reach a keyring"


class _Answer(Generic[T]):
    """The outcome of a thread."""

    value: T
    refusal: str | None = None


def _ask(question: Callable[["KeyringBackend", threading.Event], T], seconds: float) -> T:
    if reason := unavailable_reason():
        raise NoKeyring(reason)
    import keyring  # noqa: F401 its loading is not what is waited for

    answer: _Answer[T] = _Answer()
    given_up = threading.Event()

    def run() -> None:
        try:
            answer.value = question(_real_backend(), given_up)
        except NoKeyring as error:
            answer.refusal = str(error)
        except Exception as error:  # noqa: BLE001 backends raise whatever their systems do
            # Its text may contain the key.
            answer.refusal = _refusal(error)

    # A daemon thread does not delay exit either.
    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        given_up.set()
        raise NoKeyring(f"the keyring did not answer within {seconds:g} seconds")
    if answer.refusal is not None:
        raise NoKeyring(answer.refusal)
    return answer.value


def _real_backend() -> "KeyringBackend":
    """The configured or detected backend, if it keeps keys for their owner; raises NoKeyring."""
    import keyring
    from keyring.backends.chainer import ChainerBackend

    chosen = keyring.get_keyring()
    chain = chosen.backends if isinstance(chosen, ChainerBackend) else [chosen]
    for backend in chain:
        if not type(backend).__module__.startswith(_NOT_REAL):
            return backend
    raise NoKeyring("there is no keyring on this machine")


def _refusal(error: Exception) -> str:
    from keyring.errors import InitError, KeyringLocked, NoKeyringError

    if isinstance(error, NoKeyringError):
        return "there is no keyring on this machine"
    if isinstance(error, KeyringLocked | InitError):
        return "the keyring is locked"
    return f"the keyring refused ({type(error).__name__})"
