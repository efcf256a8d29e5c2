"""`prime env trust` and `prime env signers`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import (
    CONTEXT,
    OUTPUT,
    QUIET,
    common_options,
    local_options,
    open_session,
)
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import read_owner
from prime_cli.envs.signatures.signers import AllowedSigner, AllowedSigners, SigstoreIdentity
from prime_cli.envs.trust import TrustedOwner, TrustedOwners
from prime_cli.session import Session

_TRUST_COLUMNS = ("Hub", "Owner", "How", "Since")


class TrustResult(msgspec.Struct, frozen=True):
    """Owners on a hub, and whether their code may run here now."""

    hub: str
    owners: list[str]
    trusted: bool


@common_options(OUTPUT, QUIET, CONTEXT, answer=(TrustResult, list[TrustedOwner]), effects=WRITES)
def trust(
    ctx: typer.Context,
    owners: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OWNER]...", help="Owners whose code may run here."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from the list.")] = False,
) -> None:
    """Trust owners on the current hub, or list trusted owners.

    prime asks before it installs or runs an owner's code for the first time. Trust applies to one
    hub. prime does not ask about environments of yours or your teams.

    \b
    Example:
      prime env trust
      prime env trust ada --context team
      prime env trust ada --remove
    \b
    See also: `prime env signers`, `prime env install`, `prime eval run`.
    """
    session = open_session(ctx)
    listed = TrustedOwners(session.config.home.value)
    if not owners:
        if remove:
            raise UsageError("Pass the owners to remove")
        found = listed.all()
        rows = [[each.hub, each.owner, each.how, each.since] for each in found]
        session.output.table(_TRUST_COLUMNS, rows, records=found)
        if not found:
            session.output.hint("trust an owner with `prime env trust OWNER`")
        return
    hub = _hub_url(session.config.context.base_url or session.config.upstream)
    for owner in owners:
        read_owner(owner)
        if remove and not listed.remove(hub, owner):
            raise NotFound(
                f"`{owner}` on {hub} is not on the list", hint="see it with `prime env trust`"
            )
        if not remove:
            listed.add(hub, owner, how="command")
    named = ", ".join(f"`{owner}`" for owner in owners)
    verb = "no longer trusted" if remove else "trusted"
    value = TrustResult(hub, owners, trusted=not remove)
    session.output.done(f"{named} on {hub}: {verb}", value=value)


def _hub_url(url: str | None) -> str:
    """The hub that strangers come from: the context's, or the one that the local hub asks."""
    if url is None:
        raise UsageError(
            "Everything on the local hub is trusted", hint="choose another hub with `--context`"
        )
    return url


_SIGNER_COLUMNS = ("Owner", "Kind", "Signer")


class OwnersSigners(msgspec.Struct, frozen=True):
    """The trusted signers of an owner."""

    owner: str
    signers: list[AllowedSigner]


@local_options(answer=(OwnersSigners, list[AllowedSigner]), effects=WRITES)
def signers(
    ctx: typer.Context,
    owner: Annotated[
        str | None,
        typer.Argument(metavar="[OWNER]", help="The owner whose environments they sign."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Trust this public SSH key (`.pub`)."),
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option(
            "--identity", help="Trust this identity: an e-mail address or a workflow's URL."
        ),
    ] = None,
    issuer: Annotated[
        str | None, typer.Option("--issuer", metavar="URL", help="The issuer of the identity.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the owner's trusted signers.")
    ] = False,
) -> None:
    """List or change trusted signers.

    SSH keys are in `allowed_signers` in PRIME_HOME, in OpenSSH's format, which you can edit;
    sigstore identities are in `allowed_identities`.

    \b
    Example:
      prime env signers
      prime env signers ada --key ada.pub
      prime env signers ada --identity a@b.org --issuer https://issuer.example
      prime env signers ada --remove
    \b
    See also: `prime env install --require-signature`, `prime env trust`.
    """
    session = open_session(ctx)
    known = AllowedSigners(session.config.home.value)
    if bool(identity) != bool(issuer):
        raise UsageError("`--identity` and `--issuer` require each other")
    believed = SigstoreIdentity(identity, issuer) if identity and issuer else None
    if owner is None:
        if remove or key or believed:
            raise UsageError("Pass the owner whose environments they sign")
        _list_signers(session, known)
    elif remove:
        if not known.remove(owner):
            raise NotFound(
                f"`{owner}` has no trusted signers", hint="list them with `prime env signers`"
            )
        _report_signers(session, owner, f"Removed all signers of `{owner}`")
    elif key or believed:
        if key:
            if not key.is_file():
                raise NotFound(f"There is no key {key}", hint="pass the file that ends in `.pub`")
            with storage_errors(key):
                known.add_key(owner, key.read_text(encoding="utf-8", errors="replace").strip())
        if believed:
            known.add_identity(owner, believed)
        _report_signers(session, owner, f"This signer is now trusted for `{owner}`")
    else:
        _list_signers(session, known, owner)


def _list_signers(session: Session, known: AllowedSigners, owner: str | None = None) -> None:
    found = [each for each in known.all() if owner in (None, each.owner)]
    rows = [[each.owner, each.kind, each.signer] for each in found]
    session.output.table(_SIGNER_COLUMNS, rows, records=found)
    if not found:
        session.output.hint("add a signer's public key with `prime env signers OWNER --key FILE`")


def _report_signers(session: Session, owner: str, sentence: str) -> None:
    found = [
        each for each in AllowedSigners(session.config.home.value).all() if each.owner == owner
    ]
    session.output.done(sentence, value=OwnersSigners(owner, found))
