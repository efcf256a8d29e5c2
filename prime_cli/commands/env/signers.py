"""`prime env signers`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import OutputOpt, QuietOpt, open_session
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.envs.signatures.signers import AllowedSigners, SigstoreIdentity
from prime_cli.session import Session

_COLUMNS = ("Owner", "Kind", "Signer")


def signers(
    ctx: typer.Context,
    owner: Annotated[
        str | None, typer.Argument(metavar="[OWNER]", help="Whose environments they sign.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Believe this public ssh key (`.pub`)."),
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option("--identity", help="Believe this identity: an address, or a workflow's URL."),
    ] = None,
    issuer: Annotated[
        str | None, typer.Option("--issuer", metavar="URL", help="Who vouches for the identity.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Believe none of the owner's signers any more.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
) -> None:
    """List or change whose signatures are believed.

    The keys are in `allowed_signers` in PRIME_HOME, in the format of OpenSSH, and may be edited
    there; identities of sigstore are in `allowed_identities`.

    \b
    Example:
      prime env signers
      prime env signers ada --key ada.pub
      prime env signers ada --identity a@b.org --issuer https://issuer.example
      prime env signers ada --remove
    \b
    See also: `prime env install --require-signature`, `prime env trust`.
    """
    session = open_session(ctx, output=output, quiet=quiet)
    known = AllowedSigners(session.config.home.value)
    if bool(identity) != bool(issuer):
        raise UsageError("Give `--identity` and `--issuer` together")
    believed = SigstoreIdentity(identity, issuer) if identity and issuer else None
    if owner is None:
        if remove or key or believed:
            raise UsageError("Name the owner whose environments they sign")
        _list(session, known)
    elif remove:
        if not known.remove(owner):
            raise NotFound(
                f"No signer is allowed for `{owner}`", hint="see who is with `prime env signers`"
            )
        _done(session, owner, f"No signer is allowed for `{owner}` any more")
    elif key or believed:
        if key:
            if not key.is_file():
                raise NotFound(f"There is no key {key}", hint="give the file that ends in `.pub`")
            with storage_errors(key):
                known.add_key(owner, key.read_text(encoding="utf-8", errors="replace").strip())
        if believed:
            known.add_identity(owner, believed)
        _done(session, owner, f"Signatures of `{owner}` by this signer are believed")
    else:
        _list(session, known, owner)


def _list(session: Session, known: AllowedSigners, owner: str | None = None) -> None:
    found = [each for each in known.all() if owner in (None, each.owner)]
    rows = [[each.owner, each.kind, each.signer] for each in found]
    session.output.table(_COLUMNS, rows, records=found)


def _done(session: Session, owner: str, sentence: str) -> None:
    found = [
        each for each in AllowedSigners(session.config.home.value).all() if each.owner == owner
    ]
    session.output.done(sentence, value={"owner": owner, "signers": found})
