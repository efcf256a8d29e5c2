"""What is signed: one statement about one wheel or one run, always the same bytes."""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prime_cli.core.errors import NotLoggedIn, Unreachable, UsageError
from prime_cli.core.installation import require
from prime_cli.core.refs import EnvRef
from prime_cli.core.ssh_signatures import RECEIPT_TYPE, encode_statement
from prime_cli.envs.signatures.signers import SigstoreIdentity

if TYPE_CHECKING:
    from pypi_attestations import Attestation
    from sigstore.verify.policy import VerificationPolicy

PREDICATE_TYPE = "urn:prime-cli:environment:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def make_statement(ref: EnvRef, wheel: str, sha256: str, content_hash: str | None) -> bytes:
    """The statement that the wheel of that file name and digest is the version `ref`.

    Owner and name are in it, so that it says nothing of the same bytes elsewhere.
    """
    predicate = {"content_hash": content_hash, "environment": ref.slug, "version": ref.version}
    return encode_statement(PREDICATE_TYPE, predicate, wheel, sha256)


_ISSUERS = ("1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1")
"""Fulcio's extensions of a certificate that name its issuer: in DER, and as plain text before."""


@dataclass(frozen=True)
class AttestationSigner:
    """Who a good attestation's certificate is for, and whether this is an allowed identity."""

    identity: str
    allowed: bool


def sign(statement: bytes) -> str:
    """The JSON of an attestation that holds `statement`, by the identity of this job.

    Raises UsageError without the extra `sign`, NotLoggedIn where there is no identity token, and
    Unreachable where sigstore's services are not.
    """
    token = detect_identity_token()
    from pypi_attestations import Attestation
    from sigstore.dsse import Statement
    from sigstore.errors import Error
    from sigstore.models import ClientTrustConfig
    from sigstore.oidc import IdentityToken
    from sigstore.sign import SigningContext

    try:
        context = SigningContext.from_trust_config(ClientTrustConfig.production())
        with context.signer(IdentityToken(token)) as signer:
            bundle = signer.sign_dsse(Statement(statement))
    except (Error, OSError) as error:
        raise Unreachable(f"sigstore did not sign: {error}") from error
    return Attestation.from_bundle(bundle).model_dump_json()


def detect_identity_token() -> str:
    """The identity token of this job; raises UsageError or NotLoggedIn as `sign` does."""
    _require()
    from sigstore.oidc import IdentityError, detect_credential

    try:
        token = detect_credential()
    except IdentityError as error:
        raise NotLoggedIn(f"No identity to sign with: {error}") from error
    if token is None:
        raise NotLoggedIn(
            "No identity to sign with: this is not a CI job that provides one",
            hint="sign with an SSH key: `--sign ~/.ssh/id_ed25519`",
        )
    return token


def verify(
    text: str, statement: bytes, *, wheel: str, sha256: str, identities: list[SigstoreIdentity]
) -> AttestationSigner | None:
    """The signer of a good attestation about this wheel, None for one that is not good.

    One of ours holds `statement`; those of others (publish, SLSA provenance) name the wheel's file
    and digest.
    """
    attestation = read_attestation(text)
    # It warns of what is meant: no connection, and a signer who is looked at afterwards.
    logging.getLogger("sigstore").setLevel(logging.ERROR)
    from sigstore.verify.policy import Identity as Expected
    from sigstore.verify.policy import UnsafeNoOp

    arguments = attestation, statement, wheel, sha256
    if not _holds(*arguments, UnsafeNoOp()):
        return None
    allowed = any(
        _holds(*arguments, Expected(identity=each.identity, issuer=each.issuer))
        for each in identities
    )
    return AttestationSigner(_name_of(attestation), allowed)


def _holds(
    attestation: "Attestation",
    statement: bytes,
    wheel: str,
    sha256: str,
    policy: "VerificationPolicy",
) -> bool:
    from pypi_attestations import AttestationError, Distribution
    from sigstore.errors import Error
    from sigstore.verify import Verifier

    try:
        if attestation.statement.get("predicateType") in (PREDICATE_TYPE, RECEIPT_TYPE):
            verifier = Verifier.production(offline=True)
            told = verifier.verify_dsse(attestation.to_bundle(), policy)
            return told == (PAYLOAD_TYPE, statement)
        attestation.verify(policy, Distribution(name=wheel, digest=sha256), offline=True)
    except (AttestationError, Error, ValueError):
        return False
    return True


def read_attestation(text: str) -> "Attestation":
    _require()
    from pydantic import ValidationError
    from pypi_attestations import Attestation

    try:
        attestation = Attestation.model_validate_json(text)
        if isinstance(attestation.statement, dict):
            return attestation
    except (ValidationError, ValueError) as error:
        raise UsageError(f"This is not an attestation (PEP 740): {_first_line(error)}") from error
    raise UsageError("This is not an attestation (PEP 740): its statement is not an object")


def _name_of(attestation: "Attestation") -> str:
    """The certificate's subject (an address or a workflow) and who vouched for it."""
    from cryptography import x509

    certificate = attestation.to_bundle().signing_certificate
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    subject = ", ".join(str(name.value) for name in names)
    extensions: dict[str, Any] = {
        each.oid.dotted_string: each.value for each in certificate.extensions
    }
    told = next((extensions[oid].value for oid in _ISSUERS if oid in extensions), b"")
    issuer = told[told.find(b"https://") :].decode("utf-8", "replace") if told else "unknown"
    return f"{subject} ({issuer})"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200]


def _require() -> None:
    require("sign", "A signature by an identity", "pypi_attestations", "sigstore")
