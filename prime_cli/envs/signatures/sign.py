"""Sign a wheel that was made here, and keep the signature beside its version on the hub."""

from collections.abc import Callable, Sequence
from pathlib import Path

from prime_cli.api.client import HubClient
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import EnvRef
from prime_cli.envs.lookup import require_same_environment
from prime_cli.envs.signatures import attestations, ssh
from prime_cli.envs.signatures.attestations import make_statement
from prime_cli.wire.locks import MOST_SIGNATURES, Signature, Signatures
from prime_cli.wire.version_documents import SIGNATURES

SIGSTORE = "sigstore"
"""In place of a key: the identity of the job."""

Signer = Callable[[bytes, Path], Signature]
"""Makes a signature of a statement about the wheel at a path."""


def signer_of(word: str) -> Signer:
    """What `--sign` names: an ssh key's file, or `sigstore`.

    Raises what signing would for want of a key, a program or an identity, before anything is sent.
    """
    if word == SIGSTORE:
        attestations.detect_identity_token()
        return lambda statement, _: Signature("pep740", attestations.sign(statement))
    key = ssh.find_key(Path(word))
    return lambda statement, _: Signature("ssh", ssh.sign(key, statement))


def attestation_signer(file: Path) -> Signer:
    """An attestation that was made elsewhere; raises UsageError or StorageFailed for no such."""
    with storage_errors(file):
        text = file.read_text(encoding="utf-8", errors="replace")
    attestations.read_attestation(text)

    def give(statement: bytes, wheel: Path) -> Signature:
        sha256 = digest_file(wheel)
        found = attestations.verify(text, statement, wheel=wheel.name, sha256=sha256, identities=[])
        if found is None:
            raise IntegrityError(f"{file} is not a trusted attestation of {wheel.name}")
        return Signature("pep740", text)

    return give


def require_signature_support(hub: HubClient) -> None:
    """Raise UsageError for a hub that keeps no signatures."""
    if SIGNATURES.feature not in hub.capabilities().features:
        raise UsageError(f"{hub.host} does not support signatures", hint="publish without `--sign`")


def attach_signatures(
    hub: HubClient, ref: EnvRef, wheel: Path, content_hash: str, signers: Sequence[Signer]
) -> int:
    """Sign `wheel` as the version `ref`; how many signatures there are then.

    Only what lies here is signed: raises IntegrityError when the hub has another wheel. Those that
    the version had stay.
    """
    detail = hub.environments.get(ref)
    require_same_environment(hub.host, ref, detail)  # its spelling is signed
    sha256 = digest_file(wheel)
    if (detail.wheel_sha256, detail.content_hash) != (sha256, content_hash):
        raise IntegrityError(
            f"{ref} was not signed: its wheel on {hub.host} is not the one built here",
            detail=f"sha256 here  {sha256}\nsha256 there {detail.wheel_sha256}",
        )
    spelled = EnvRef(detail.owner.name, detail.name, detail.semantic_version)
    statement = make_statement(spelled, wheel.name, sha256, content_hash)
    made = [sign(statement, wheel) for sign in signers]
    before = hub.documents.get(ref, SIGNATURES)
    kept = before.signatures if before and before.wheel_sha256 == sha256 else ()
    signatures = tuple(dict.fromkeys([*made, *kept]))[:MOST_SIGNATURES]
    hub.documents.put(ref, SIGNATURES, Signatures(sha256, signatures))
    return len(signatures)
