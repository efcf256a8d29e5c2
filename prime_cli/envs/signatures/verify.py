"""Which signatures of a version are good, and whose they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import NotTrusted, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.envs.signatures import attestations, ssh
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.wire.locks import Signature

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
        return SignatureVerdict(signature.kind, BAD, "it does not sign this wheel as this version")
    signer = found.key if isinstance(found, ssh.SshSigner) else found.identity
    return SignatureVerdict(signature.kind, ALLOWED if found.allowed else UNKNOWN, signer)
