"""Where the key of the current hub comes from, and whether a keyring answers; never the key."""

from prime_cli.accounts.addresses import sends_unencrypted
from prime_cli.checks.findings import Finding, failed, ok, skipped, warned
from prime_cli.checks.place import Place
from prime_cli.core.config import Config
from prime_cli.core.credentials import find_credential, keyrings

_NOBODY = "prime doctor"
"""An account that no key is kept under."""


def examine(place: Place) -> list[Finding]:
    """One finding for the key, one for the keyring."""
    if place.config is None:
        return [skipped("key", "Not looked for: the settings cannot be read"), _keyring(place)]
    return [_key(place, place.config), _keyring(place)]


def _key(place: Place, config: Config) -> Finding:
    context = config.context
    credential = find_credential(config, place.environ)
    if credential.trouble:
        fix = f"unlock the keyring, or `prime login --context {context.name}` again"
        return failed("key", credential.trouble, fix)
    if credential.key and sends_unencrypted(context.base_url or ""):
        told = f"The key for `{context.name}` goes to {context.base_url} unencrypted"
        return warned("key", told, "name the hub by https://, or keep to a network you trust")
    if credential.key:
        return ok("key", f"A key for `{context.name}` comes from {credential.source}")
    if context.base_url is None:
        return ok("key", "The hub in this process needs none")
    fix = "`prime login`, or set PRIME_API_KEY; public environments need none"
    return warned("key", f"There is none for `{context.name}`", fix)


def _keyring(place: Place) -> Finding:
    """Whether keys would be kept in one: it is asked for a key that nobody has."""
    if reason := keyrings.unavailable_reason(place.environ):
        return ok("keyring", f"Keys are kept in a file: {reason}")
    try:
        keyrings.load_key(_NOBODY)
    except keyrings.NoKeyring as error:
        fix = "nothing, if a file (0600) will do; else unlock or install one"
        return warned("keyring", f"Keys are kept in a file: {error}", fix)
    return ok("keyring", "It answers")
