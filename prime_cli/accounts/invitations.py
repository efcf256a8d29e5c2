"""Invitations as people send them: a link, and the command that accepts it."""

import getpass
import re
import shlex
from dataclasses import dataclass, field

from prime_cli.accounts.contexts import LoginTarget
from prime_cli.core.config import Config, load_config
from prime_cli.core.config.contexts import URL_VARIABLES
from prime_cli.core.credentials import find_credential
from prime_cli.core.errors import UsageError
from prime_cli.core.http import sends_unencrypted
from prime_cli.wire.invitations import JOIN_PAGE, TOKEN, TOKEN_PREFIX

_LONGEST_NAME = 30


@dataclass(frozen=True)
class InvitationLink:
    """The hub of an invitation, as somebody wrote its address, and the secret."""

    hub: str
    token: str = field(repr=False)


def read_link(text: str) -> InvitationLink:
    """The link in `https://hub.example.org/join#prime_inv_…`, or in a whole command with it.

    Raises UsageError, which does not show the text: it may contain most of the secret.
    """
    for word in text.replace("'", " ").replace('"', " ").split():
        address, _, token = word.partition("#")
        if address.rstrip("/").endswith(JOIN_PAGE) and TOKEN.fullmatch(token):
            return InvitationLink(address.rstrip("/").removesuffix(JOIN_PAGE), token)
    raise UsageError(
        "This is not an invitation",
        hint=f"paste all of it, in quotes: 'https://hub.example.org{JOIN_PAGE}#{TOKEN_PREFIX}...'",
    )


def joining_command(link: str) -> str:
    """What the invited person types; quoted, as `#` means something to some shells."""
    allowing = " --allow-http" if sends_unencrypted(link) else ""
    return f"prime join {shlex.quote(link)}{allowing}"


def key_for(config: Config, target: LoginTarget) -> str | None:
    """The key that is kept for the target, or that a variable has for its hub; None without one."""
    now = config.context
    is_this = now.name == target.name or now.name in URL_VARIABLES
    if is_this and now.base_url == target.base_url:
        return find_credential(config).key
    if not target.known:
        return None
    return find_credential(load_config(context=target.name), {}).key


def likely_name() -> str:
    """The name that the person has on this machine, as a hub would take it; "" if it has none."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return ""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_NAME].strip("-")
