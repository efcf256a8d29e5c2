"""Keyrings of every kind, put below prime as `PYTHON_KEYRING_BACKEND` or by `set_keyring`."""

import threading

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class Working(KeyringBackend):
    """Keeps keys for as long as the process lives; `kept` is by service and account."""

    priority = 9.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class Hanging(Working):
    """Answers when `opened` is set: a dialog that waits for somebody."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()
        self.threads: list[threading.Thread] = []

    def get_password(self, service: str, username: str) -> str | None:
        self._wait()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._wait()
        super().set_password(service, username, password)

    def _wait(self) -> None:
        self.threads.append(threading.current_thread())
        self.opened.wait(300)


class Locked(Working):
    """A keyring that nobody opens."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked("Failed to unlock the collection!")


class Failing(Working):
    """A keyring whose system breaks down, with the key in what it says."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise ConnectionResetError(f"cannot send {password}")


class Forgetful(Working):
    """Takes a key and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """As the null backend does."""


class Plaintext(Working):
    """Keeps keys in a file that is readable."""

    __module__ = "keyrings.alt.file"
