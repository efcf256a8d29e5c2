"""The signatures of a version: which are good and whose, and new ones of a wheel made here."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prime_cli.client.api.client import HubClient
from prime_cli.core import ssh_signatures as ssh
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, NotTrusted, UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.core.refs import EnvRef
from prime_cli.envs.lookup import require_same_environment
from prime_cli.envs.signatures import attestations
from prime_cli.envs.signatures.attestations import make_statement
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.wire.locks import MOST_SIGNATURES, Signature, Signatures
from prime_cli.wire.version_documents import SIGNATURES

ALLOWED, UNKNOWN, BAD, UNCHECKED = "allowed", "unknown", "bad", "unchecked"


@dataclass(frozen=True)
class SignatureVerdict:
    """One signature: `allowed` (good, by a signer that the user allows for the owner), `unknown`
    (good, by another signer), `bad`, or `unchecked` if a program or package is missing.

    `signer` is a key's fingerprint or an identity; for the last two it says what is wrong.
    """

    kind: str
    verdict: str
    signer: str


def verify_signatures(
    signatures: Iterable[Signature], statement: bytes, *, owner: str, wheel: Path, home: Path
) -> list[SignatureVerdict]:
    """The verdict on each signature of `statement`, which is about `wheel` (in a WheelStore)."""
    signers = AllowedSigners(home)
    return [_judge(each, statement, owner, wheel, signers) for each in signatures]


def format_verdict(found: SignatureVerdict) -> str:
    """`ssh ED25519 SHA256:… (allowed)`, as people read it."""
    return f"{found.kind} {found.signer} ({found.verdict})"


def require_allowed_signer(ref: EnvRef, verdicts: list[SignatureVerdict]) -> None:
    """Raise NotTrusted unless one of the signatures is of an allowed signer."""
    if any(each.verdict == ALLOWED for each in verdicts):
        return
    if not verdicts:
        raise NotTrusted(
            f"{ref} is not signed, and a signature is required",
            hint="ask its owner to sign it with `prime env upload --sign KEY`",
        )
    told = "\n".join(map(format_verdict, verdicts))
    raise NotTrusted(
        f"{ref} has no signature by a trusted signer of `{ref.owner}`, and one is required",
        detail=told,
        hint=f"if you trust the signer, run `prime env signers {ref.owner} --key KEY.pub`",
    )


def _judge(
    signature: Signature, statement: bytes, owner: str, wheel: Path, signers: AllowedSigners
) -> SignatureVerdict:
    found: ssh.SshSigner | attestations.AttestationSigner | None
    try:
        if signature.kind == "ssh":
            found = ssh.verify(statement, signature.body, owner, signers.keys)
        else:
            found = attestations.verify(
                signature.body,
                statement,
                wheel=wheel.name,
                sha256=wheel.parent.name,
                identities=signers.identities_of(owner),
            )
    except UsageError as error:
        return SignatureVerdict(signature.kind, UNCHECKED, error.message)
    if found is None:
        return SignatureVerdict(signature.kind, BAD, "it signs something else")
    signer = found.key if isinstance(found, ssh.SshSigner) else found.identity
    return SignatureVerdict(signature.kind, ALLOWED if found.allowed else UNKNOWN, signer)


# --- Signing ---

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
