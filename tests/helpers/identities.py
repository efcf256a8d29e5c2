"""Identities of a sign-in provider, linked to users of a hub."""

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.identity.sign_in import Identity
from prime_cli.hub.services.identities import connect_user_of, list_identities
from prime_cli.hub.services.key_management import issue_key, revoke_key

ISSUER = "https://login.example.org"


def link_identity(hub: Hub, user: str, *, issuer: str = ISSUER) -> str:
    """The id of a new identity of the user at the provider."""
    operator = Caller.operator()
    identity = Identity(issuer, f"subject of {user}", email=f"{user}@example.org")
    made = issue_key(hub, operator, user, scope="admin")
    connect_user_of(hub, "192.0.2.7", identity, made.key)
    revoke_key(hub, operator, made.id)
    found = list_identities(hub, operator, user).identities
    return next(each.id for each in found if each.issuer == issuer)
