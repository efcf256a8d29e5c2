"""Letting the user's key open pods: its public half is put on the hub where it is not yet."""

import platform
import re

from prime_cli.api.accounts import fetch_all
from prime_cli.api.client import HubClient
from prime_cli.core.errors import Conflict, NotAllowed, NotFound, NotLoggedIn, UsageError
from prime_cli.core.progress import Progress
from prime_cli.core.ssh_keys import PublicKey, read_public_key
from prime_cli.wire.ssh_keys import SshKey


def register_key(hub: HubClient, line: str, progress: Progress) -> SshKey | None:
    """The user's key on the hub whose public half is `line`; it is added, and said, if needed.

    None on a hub that keeps no keys, or shows them to nobody, which is said too: its pods are
    opened by what is set on its pages. Raises UsageError for what is no key.
    """
    key = read_public_key(line)
    try:
        for known in fetch_all(hub.ssh_keys.page):
            if _is_same(known, key):
                return known
        added = hub.ssh_keys.add(name_of(key), key.line)
    except NotLoggedIn:
        raise
    except Conflict as error:
        raise Conflict(
            f"Your key cannot be put on {hub.host}: {error.message}",
            hint=error.hint or "see those there with `prime ssh-keys list`",
        ) from error
    except (NotAllowed, NotFound) as error:
        progress.warn(
            f"{hub.host} did not say which keys open your pods: {error.message}",
            hint="see to it on its pages that yours is among them",
        )
        return None
    progress.say(f"Put your key {key.fingerprint} on {hub.host}, as `{added.name}`")
    return added


def _is_same(known: SshKey, key: PublicKey) -> bool:
    # A hub may keep keys of kinds that nobody here reads.
    try:
        return read_public_key(known.public_key).bare == key.bare
    except UsageError:
        return False


def name_of(key: PublicKey) -> str:
    """What a key is called: its comment, which is `ada@laptop` as a rule, else this machine."""
    name = key.comment or platform.node()
    return re.sub(r"[^A-Za-z0-9@._-]+", "-", name).strip("-")[:50] or "prime"
