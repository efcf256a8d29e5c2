"""The lock and the signatures beside a version: formats of our own."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

# Names, exact versions, markers, hashes and names of indexes; no credentials ever. URLs only as the
# `source` of a package that no index has: the author's `[tool.uv.sources]`, or a direct reference.


class LockedPackage(msgspec.Struct, omit_defaults=True, frozen=True):
    """One requirement: PEP 503 name, exact version, optional PEP 508 marker, sha256 digests.

    `source` is the one exception to "no URLs": a PEP 508 direct reference, public and without
    credentials, to a git commit (`git+https://…@<commit>`) or a file. `version` is empty then.
    `index` is the name of the author's index; its address must be in uv's configuration.
    """

    name: str
    version: str
    marker: str | None = None
    sha256: tuple[str, ...] = ()
    source: str | None = None
    index: str | None = None


class TriedRelease(msgspec.Struct, omit_defaults=True, frozen=True):
    """One try of a search that did not pass: what it was, and why, as clauses.

    `verifiers` is empty if no version was found; `as_of` is the ISO time of its packages.
    """

    said: str
    why: str
    verifiers: str = ""
    as_of: str | None = None


class Lock(msgspec.Struct, omit_defaults=True, frozen=True):
    """The packages resolved for a wheel.

    `found_by` names the step that found them (`uv.lock`, `results`, `date`, `git`, `next-release`,
    `bound`, `static`, `search`, `--verifiers`); `python` is the version it was resolved for
    (`3.11`), `generation` is `v0` or `v1`, `as_of` the ISO time behind `--exclude-newer` where one
    was used. `tried` is what did not pass before, in order. `published_as_of` is the date
    that the publisher claims for an older package.
    """

    schema: int
    wheel_sha256: str
    verifiers: str
    generation: str
    python: str
    found_by: str
    packages: tuple[LockedPackage, ...]
    as_of: str | None = None
    made_at: str | None = None
    published_as_of: str | None = None
    tried: tuple[TriedRelease, ...] = ()


class Capabilities(msgspec.Struct):
    """`GET /api/v1/capabilities`: what our hubs offer beyond the public API."""

    hub: str
    version: str
    features: list[str] = []


# --- Signatures ---

MOST_SIGNATURES = 8
LONGEST_SIGNATURE = 32 * 1024
"""An attestation of sigstore has about 8 KB, a signature of ssh 300 bytes."""


class Signature(msgspec.Struct, frozen=True):
    """One signature of the statement about a version's wheel (`envs.signing.statement`).

    `ssh`: what `ssh-keygen -Y sign` writes, over the statement's bytes. `pep740`: the JSON of an
    attestation (PEP 740), which holds a statement of its own.
    """

    kind: Literal["ssh", "pep740"]
    body: Annotated[str, Meta(min_length=1, max_length=LONGEST_SIGNATURE)]


class Signatures(msgspec.Struct, frozen=True):
    """All signatures of a version, for the wheel with `wheel_sha256`."""

    wheel_sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    signatures: Annotated[tuple[Signature, ...], Meta(max_length=MOST_SIGNATURES)]


class ReceiptMark(msgspec.Struct, frozen=True):
    """The receipt of a run, compared with what the hub has of it. Ours.

    `signer` is whose signature a valid one has, `problem` why another is not.
    """

    valid: bool
    signer: str | None = None
    problem: str | None = None

    @property
    def words(self) -> str:
        """`valid, signed by ED25519 SHA256:…`."""
        if not self.valid:
            return f"not valid: {self.problem}"
        return f"valid, signed by {self.signer}" if self.signer else "valid, not signed"
