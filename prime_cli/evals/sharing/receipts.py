"""Receipts of runs: verified from the files beside them, and signed as wheels are.

A signer is one of all whom the user's files name.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from prime_cli.core.errors import GateFailed, NotFound, NotTrusted, PrimeError
from prime_cli.core.formatting import pluralize
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.envs.signatures.versions import (
    ALLOWED,
    BAD,
    SignatureVerdict,
    format_verdict,
    signer_of,
    verify_signatures,
)
from prime_cli.runs.folder import RunFolder, writing
from prime_cli.runs.manifest import load_manifest
from prime_cli.runs.receipt import (
    RECEIPT,
    Receipt,
    digest_plan,
    digest_receipt,
    encode_receipt,
    list_file,
    make_receipt,
    read_plan,
    read_receipt,
    receipt_statement,
    scan_journal,
)
from prime_cli.wire.locks import MOST_SIGNATURES, Signature

_NOBODY = {"nobody": None}


class ReceiptVerification(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a receipt: it is `valid` if there are no `problems`.

    `rollouts` of `planned` ended. `proves` and `does_not_prove` are sentences for people.
    """

    run_id: str
    receipt: str
    sha256: str
    valid: bool
    problems: tuple[str, ...]
    rollouts: int
    planned: int | None
    signatures: tuple[SignatureVerdict, ...]
    proves: tuple[str, ...]
    does_not_prove: tuple[str, ...]


def verify_receipt(path: Path, home: Path) -> ReceiptVerification:
    """Compute the receipt at `path`, a file or the folder of a run, again from its files.

    Of a hub's copy of a run, what that run's receipt says and hubs keep. Reads nothing but these
    files and the signers that `home` allows. Raises NotFound without a receipt, UsageError for one
    that cannot be read, StorageFailed.
    """
    folder = RunFolder(path if path.is_dir() else path.parent)
    file = path
    if path.is_dir():
        is_copy = folder.pushed_receipt.is_file() and not folder.receipt.is_file()
        file = folder.pushed_receipt if is_copy else folder.receipt
    is_copy = file.name == folder.pushed_receipt.name
    if not file.is_file():
        raise NotFound(
            f"{path} has no receipt", hint="a run of this release has one; resume it to add one"
        )
    receipt, content = read_receipt(file)
    if is_copy:
        problems = list(_differences(folder, receipt))
    else:
        problems = [*_edits(receipt, content), *_changes(folder, receipt)]
        problems = problems or list(_contradictions(folder, receipt))
    signatures = tuple(_verify_receipt_signatures(receipt, home))
    problems += [f"a signature is bad: {each.signer}" for each in signatures if each.verdict == BAD]
    valid = not problems
    return ReceiptVerification(
        run_id=receipt.run_id,
        receipt=str(file),
        sha256=receipt.sha256,
        valid=valid,
        problems=tuple(problems),
        rollouts=receipt.scores.rollouts if receipt.scores else 0,
        planned=receipt.planned,
        signatures=signatures,
        proves=tuple(_proofs(receipt, signatures, is_copy=is_copy)) if valid else (),
        does_not_prove=tuple(_limits(folder, receipt, signatures, is_copy=is_copy))
        if valid
        else (),
    )


def require_valid(found: ReceiptVerification, *, signed: bool = False) -> None:
    """Raise GateFailed for a receipt with problems, NotTrusted without a signature if `signed`."""
    if not found.valid:
        raise GateFailed(
            f"The receipt of run {found.run_id} is not valid",
            detail="\n".join(found.problems),
            hint="get the run again from who made it; the files here were changed since",
        )
    if signed and not any(each.verdict == ALLOWED for each in found.signatures):
        told = "\n".join(map(format_verdict, found.signatures))
        raise NotTrusted(
            f"The receipt of run {found.run_id} is not signed by a trusted signer",
            detail=told,
            hint="if you trust the signer, run `prime env signers OWNER --key KEY.pub`",
        )


def sign_receipt(folder: RunFolder, key: str, home: Path) -> None:
    """Add a signature to the receipt of a run, by an ssh key's file or by `sigstore`.

    Raises GateFailed for a receipt that is not valid, NotFound for a hub's copy of a run, Conflict
    while the run goes on, and what `signer_of` raises.
    """
    sign = signer_of(key)
    with writing(folder):
        require_valid(verify_receipt(folder.path, home))
        if not folder.receipt.is_file():
            hint = "sign the run itself, and push it again"
            raise NotFound(f"{folder.path} is a hub's copy of a run", hint=hint)
        receipt, _ = read_receipt(folder.receipt)
        made = sign(receipt_statement(receipt), folder.receipt)
        signatures = tuple(dict.fromkeys((made, *receipt.signatures)))[:MOST_SIGNATURES]
        signed = msgspec.structs.replace(receipt, signatures=signatures)
        write_atomically(folder.receipt, encode_receipt(signed), mode=0o644)


def _edits(receipt: Receipt, content: bytes) -> Iterator[str]:
    if content != encode_receipt(receipt) or digest_receipt(receipt) != receipt.sha256:
        yield f"{RECEIPT} was edited"


def _changes(folder: RunFolder, receipt: Receipt) -> Iterator[str]:
    """What the files that it lists are not any more."""
    if not receipt.files:
        yield f"{RECEIPT} lists no files: the run has not ended"
    for name, listed in receipt.files.items():
        path = folder.path / name
        if Path(name).name != name or not path.is_file():
            yield f"{name} is missing"
        elif list_file(path) != listed:
            yield f"{name} was changed"


def _contradictions(folder: RunFolder, receipt: Receipt) -> Iterator[str]:
    """What the receipt says otherwise than the very files that it lists."""
    try:
        made = make_receipt(folder, receipt.plans, scan_journal(folder))
        plan = read_plan(folder)
    except PrimeError as error:
        yield error.message
        return
    for name in made.__struct_fields__:
        if name not in ("sha256", "signatures") and getattr(made, name) != getattr(receipt, name):
            yield f"`{name}` is not what the files say"
    own = [each for each in receipt.plans if each.run_id == receipt.run_id]
    if not own or digest_plan(plan, own[-1]) != own[-1].sha256:
        yield "the plan in run.json is not the one that was written before the first call"
    with storage_errors(folder.results):
        lines = folder.results.read_bytes().count(b"\n") if folder.results.is_file() else None
    if made.scores is not None and lines not in (None, made.scores.rollouts):
        ended = pluralize(made.scores.rollouts, "rollout")
        yield f"results.jsonl has {lines:,} lines, and the journal {ended}"


_KEPT = ("wheel_sha256", "lock_digest", "fingerprint", "model", "sampling", "planned", "scores")
"""What a hub's copy of a run has as the run itself."""


def _differences(folder: RunFolder, receipt: Receipt) -> Iterator[str]:
    """What a hub's copy has otherwise than the receipt of the run."""
    if digest_receipt(receipt) != receipt.sha256:
        yield f"{folder.pushed_receipt.name} was edited"
    made = make_receipt(folder, receipt.plans, scan_journal(folder))
    for name in _KEPT:
        if getattr(made, name) != getattr(receipt, name):
            yield f"`{name}` is not what the files say"


def _proofs(
    receipt: Receipt, signatures: tuple[SignatureVerdict, ...], *, is_copy: bool
) -> Iterator[str]:
    rollouts = pluralize(receipt.scores.rollouts if receipt.scores else 0, "rollout")
    if is_copy:
        yield f"{rollouts} with their rewards, {', '.join(_KEPT[:-2])} are those of the receipt"
    else:
        yield f"{', '.join(receipt.files)} are the files that the receipt lists, byte for byte"
        yield f"it has all that the journal has: {rollouts} with their rewards"
        yield f"the plan is the one recorded when the run started, at {receipt.plans[0].at}"
    for each in signatures:
        if each.verdict == ALLOWED:
            yield f"{each.signer.split(',')[0]} signed it"


def _limits(
    folder: RunFolder,
    receipt: Receipt,
    signatures: tuple[SignatureVerdict, ...],
    *,
    is_copy: bool,
) -> Iterator[str]:
    if is_copy:
        yield "what was said: the receipt lists the files of the run, and a hub's copy has others"
    said = sorted({each.model for each in receipt.served if each.model})
    called = f", which called itself {', '.join(said)}" if said else ""
    if receipt.endpoint != "builtin":
        yield f"that the server at {receipt.endpoint} was {receipt.model}{called}"
    if not any(each.verdict == ALLOWED for each in signatures):
        yield "who made it: without a trusted signature, anybody could have written all of this"
    yield "when it was made: the times are from the clock of who ran it"
    sessions = {each.started for each in load_manifest(folder.manifest).sessions}
    if not sessions <= {each.at for each in receipt.plans}:
        yield "that the plans of all sessions were recorded: a release without receipts began it"


def _verify_receipt_signatures(receipt: Receipt, home: Path) -> list[SignatureVerdict]:
    """The verdict on each; an allowed `signer` begins with the owner who is allowed in `home`."""
    owners = dict.fromkeys(each.owner for each in AllowedSigners(home).all()) or _NOBODY
    return [
        _best([_judge(receipt, each, who, home) for who in owners]) for each in receipt.signatures
    ]


def _best(verdicts: list[SignatureVerdict]) -> SignatureVerdict:
    return next((each for each in verdicts if each.verdict == ALLOWED), verdicts[0])


def _judge(receipt: Receipt, signature: Signature, owner: str, home: Path) -> SignatureVerdict:
    statement = receipt_statement(receipt)
    place = Path(receipt.sha256) / RECEIPT
    (found,) = verify_signatures([signature], statement, owner=owner, wheel=place, home=home)
    if found.verdict != ALLOWED:
        return found
    return SignatureVerdict(found.kind, ALLOWED, f"{owner}, {found.signer}")
