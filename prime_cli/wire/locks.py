"""The lock of one wheel: what an isolated interpreter for it holds. A format of our own.

Names, exact versions, markers, hashes and names of indexes; no credentials ever. URLs only as the
`source` of a package that no index has: the author's `[tool.uv.sources]`, or a direct reference.
"""

import msgspec


class LockedPackage(msgspec.Struct, omit_defaults=True, frozen=True):
    """One requirement: PEP 503 name, exact version, optional PEP 508 marker, sha256 digests.

    `source` is the one exception to "no URLs": a PEP 508 direct reference, public and without
    credentials, to a git commit (`git+https://…@<commit>`) or a file. `version` is empty then.
    `index` is the name of the index that the author takes the package from; where it is, uv's own
    configuration has to say.
    """

    name: str
    version: str
    marker: str | None = None
    sha256: tuple[str, ...] = ()
    source: str | None = None
    index: str | None = None


class Lock(msgspec.Struct, omit_defaults=True, frozen=True):
    """What was resolved for a wheel.

    `found_by` names the step that made it (`date`, `next-release`, `static`, `search`,
    `--verifiers`); `python` is the version it was resolved for (`3.11`), `generation` is `v0` or
    `v1`, `as_of` the ISO time behind `--exclude-newer` where one was used.
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


class Capabilities(msgspec.Struct):
    """`GET /api/v1/capabilities`: what a hub of ours offers beyond the public wire."""

    hub: str
    version: str
    features: list[str] = []
