"""The signatures of a receipt: by whom, of all whom the user's files name."""

from pathlib import Path

from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.envs.signatures.versions import ALLOWED, SignatureVerdict, verify_signatures
from prime_cli.runs.receipt import RECEIPT, Receipt, receipt_statement
from prime_cli.wire.locks import Signature

_NOBODY = {"nobody": None}


def verify_receipt_signatures(receipt: Receipt, home: Path) -> list[SignatureVerdict]:
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
