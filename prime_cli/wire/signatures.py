"""Signatures that a hub of ours keeps beside a version. Our own format."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

FEATURE = "signatures"
"""The name under which hubs announce that they keep signatures."""

MOST = 8
LONGEST = 32 * 1024
"""An attestation of sigstore has about 8 KB, a signature of ssh 300 bytes."""


class Signature(msgspec.Struct, frozen=True):
    """One signature of the statement about a version's wheel (`envs.signing.statement`).

    `ssh`: what `ssh-keygen -Y sign` writes, over the statement's bytes. `pep740`: the JSON of an
    attestation (PEP 740), which holds a statement of its own.
    """

    kind: Literal["ssh", "pep740"]
    body: Annotated[str, Meta(min_length=1, max_length=LONGEST)]


class Signatures(msgspec.Struct, frozen=True):
    """All signatures of a version; `wheel_sha256` is that of the wheel which they are about."""

    wheel_sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    signatures: Annotated[tuple[Signature, ...], Meta(max_length=MOST)]
