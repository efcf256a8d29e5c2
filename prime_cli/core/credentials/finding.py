"""Which key goes to the hub of a context, and where it came from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from prime_cli.core.config.load import Config
from prime_cli.core.credentials import keyrings
from prime_cli.core.credentials.file import credentials_file, read_entries

KEY_VARIABLE = "PRIME_API_KEY"


@dataclass(frozen=True)
class Credential:
    """The key to one hub, None if there is none, and its source: a variable or a store.

    `trouble` says why a key that is kept could not be had, as a sentence.
    """

    key: str | None = field(repr=False)
    source: str
    trouble: str | None = None


def find_credential(config: Config, environ: Mapping[str, str] = os.environ) -> Credential:
    """The key of the current context's hub.

    PRIME_API_KEY wins where it is meant for this hub; otherwise it is what `prime login` has
    kept, and only where it was kept for this address.
    """
    context = config.context
    if context.base_url is None:
        return Credential(None, "no key needed")
    if context.takes_key_variable and (key := environ.get(KEY_VARIABLE)):
        return Credential(key, KEY_VARIABLE)
    home = config.home.value
    entry = read_entries(home).get(context.name)
    if entry is None or entry.hub != context.base_url:
        return Credential(None, "not set")
    if entry.account is None:
        return Credential(entry.key, str(credentials_file(home)))
    try:
        key = keyrings.fetch(entry.account)
    except keyrings.NoKeyring as error:
        trouble = f"The key of `{context.name}` is in a keyring that does not give it: {error}"
        return Credential(None, "keyring", trouble)
    return Credential(key, "keyring")
