"""`prime identities …`, also `prime identity …`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.commands.base import group
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.session import Session
from prime_cli.wire.accounts import IDENTITIES_FEATURE, IdentityItem, IdentityList

_HERE = "prime_cli.commands.identities"

app = group(
    "Manage the identities that log you in.",
    {
        "list": (f"{_HERE}:list_", "List the identities that log you in."),
        "unlink": (f"{_HERE}:unlink", "Unlink an identity from your user."),
    },
    aliases={"ls": "list", "remove": "unlink", "rm": "unlink", "delete": "unlink"},
)

_COLUMNS = ("Id", "Provider", "E-mail", "Linked", "Last login")


@hub_options(answer=IdentityList, record=IdentityItem)
def list_(ctx: typer.Context) -> None:
    """List the identities that log you in.

    They are your accounts at the sign-in provider of the hub (OpenID Connect); the page of
    `prime login` links them. Hubs without a provider have none.

    \b
    Example:
      prime identities list
    \b
    See also: `prime identities unlink`, `prime keys list`.
    """
    session = open_session(ctx)
    _require_identities(session)
    found = session.hub.accounts.identities()
    rows = [
        [each.id, each.issuer, each.email or "", each.created_at, each.last_used_at]
        for each in found
    ]
    session.output.table(_COLUMNS, rows, records=found, page=IdentityList(found))


class UnlinkedIdentity(msgspec.Struct, frozen=True):
    """An identity that logs nobody in any more."""

    id: str
    unlinked: bool


@hub_options(YES, answer=UnlinkedIdentity, effects=WRITES)
def unlink(
    ctx: typer.Context,
    identity: Annotated[
        str, typer.Argument(metavar="IDENTITY", help="Its id, e-mail address or provider.")
    ],
) -> None:
    """Unlink an identity from your user.

    It no longer logs you in, until you link it again, for which you need a key that does not
    expire. Keys of earlier logins keep working. Needs a key with the scope `admin`.

    \b
    Example:
      prime identities unlink ada@example.org
      prime identities unlink idn_0f1e2d3c4b5a6978 --yes
    \b
    See also: `prime identities list`, `prime keys revoke`.
    """
    session = open_session(ctx)
    _require_identities(session)
    linked = session.hub.accounts.identities()
    found = _find_identity(linked, identity)
    if len(linked) == 1:
        session.output.warn(
            "This is your only identity: once your keys expire, only an admin of the hub can let "
            "you in again",
            hint="only a key that does not expire links another one: `prime keys list`",
        )
    named = f"the identity {found.email or found.id} of {found.issuer}"
    session.output.confirm(f"Unlink {named}?", otherwise="Nothing was unlinked")
    session.hub.accounts.unlink_identity(found.id)
    session.output.done(f"Unlinked {named}", value=UnlinkedIdentity(found.id, unlinked=True))
    session.output.hint("keys of its logins still work: `prime keys list`, `prime keys revoke`")


def _require_identities(session: Session) -> None:
    """Raise UsageError on a hub that links none, or does not say."""
    context = session.config.context
    if context.embedded:
        raise UsageError(
            f"The `{context.name}` hub has no logins", hint="choose another hub with `--context`"
        )
    if IDENTITIES_FEATURE not in session.hub.capabilities().features:
        raise UsageError(
            f"{session.hub.host} does not manage identities by its API", hint="use its web pages"
        )


def _find_identity(identities: list[IdentityItem], wanted: str) -> IdentityItem:
    """The identity that is meant; raises NotFound, and UsageError where several are."""
    found = [each for each in identities if wanted in (each.id, each.email, each.issuer)]
    if not found:
        raise NotFound(
            f"You have no identity `{wanted[:80]}`", hint="list them with `prime identities list`"
        )
    if len(found) > 1:
        named = ", ".join(each.id for each in found)
        raise UsageError(f"{len(found)} identities are `{wanted}`", hint=f"use an id: {named}")
    return found[0]
