"""Attestations (PEP 740): real ones of released packages, altered ones, and what is none."""

import base64
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, NotLoggedIn, UsageError
from prime_cli.envs.signatures import attestations
from prime_cli.envs.signatures.attestations import AttestationSigner
from prime_cli.envs.signatures.signers import SigstoreIdentity
from prime_cli.envs.signatures.versions import attestation_signer

GITHUB = SigstoreIdentity(
    "https://github.com/trailofbits/pypi-attestations/.github/workflows/release.yml"
    "@refs/tags/v0.0.19",
    "https://token.actions.githubusercontent.com",
)
PACKAGE, SOURCES = "pypi-attestations==0.0.30", "pypi_attestations-0.0.30"
SIGNED = "pypi_attestations-0.0.19.tar.gz"


def forged(statement: bytes) -> str:
    """An attestation of the right form whose certificate is none."""
    junk = base64.b64encode(b"junk").decode()
    return json.dumps(
        {
            "version": 1,
            "verification_material": {"certificate": junk, "transparency_entries": [{}]},
            "envelope": {"statement": base64.b64encode(statement).decode(), "signature": junk},
        }
    )


def verify(
    text: str, *identities: SigstoreIdentity, sha256: str = "0" * 64
) -> AttestationSigner | None:
    return attestations.verify(
        text, b"{}", wheel="tiny-0.1.0-py3-none-any.whl", sha256=sha256, identities=[*identities]
    )


@pytest.mark.parametrize(
    "statement",
    [b"{}", b'{"predicateType":"urn:prime-cli:environment:v1"}', b'{"predicateType":3}'],
)
def test_a_forged_one_is_not_good(statement: bytes) -> None:
    assert verify(forged(statement), GITHUB) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", forged(b"no json"), forged(b"[]")])
def test_an_invalid_attestation_is_reported(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="This is not an attestation"):
        attestations.read_attestation(text)
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="This is not an attestation"):
        attestation_signer(tmp_path / "file")


def test_without_an_identity_nothing_is_signed() -> None:
    with pytest.raises(NotLoggedIn, match="No identity to sign with"):
        attestations.sign(b"{}")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A released package with a real attestation beside it: both are among that one's sources."""
    folder = tmp_path_factory.mktemp("released")
    pip = ["uvx", "--from", "pip", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*pip, "-d", str(folder), PACKAGE], check=True, timeout=600)
    assets = f"{SOURCES}/test/assets/"
    # One by one: Python 3.11.2, which is Debian's, extracts all or nothing without a filter.
    with tarfile.open(folder / f"{SOURCES}.tar.gz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.startswith(assets) else None
            if content is not None and "/" not in member.name.removeprefix(assets):
                (folder / Path(member.name).name).write_bytes(content.read())
    return folder


@pytest.mark.slow
def test_a_real_one_is_valid_for_its_file_and_signer(released: Path) -> None:
    file, text = released / SIGNED, (released / f"{SIGNED}.publish.attestation").read_text("utf-8")
    sha256 = digest_file(file)

    def look(
        digest: str, *identities: SigstoreIdentity, name: str = SIGNED
    ) -> AttestationSigner | None:
        return attestations.verify(text, b"{}", wheel=name, sha256=digest, identities=[*identities])

    unknown = look(sha256)
    assert unknown is not None
    assert not unknown.allowed
    assert unknown.identity == f"{GITHUB.identity} ({GITHUB.issuer})"
    allowed = look(sha256, GITHUB)
    assert allowed is not None
    assert allowed.allowed
    for other in (
        SigstoreIdentity(GITHUB.identity, "https://issuer.example"),
        SigstoreIdentity("me", "you"),
    ):
        found = look(sha256, other)
        assert found is not None
        assert not found.allowed
    assert look("0" * 64, GITHUB) is None
    assert look(sha256, GITHUB, name="other-0.0.19.tar.gz") is None


@pytest.mark.slow
@pytest.mark.parametrize("part", ["statement", "signature"])
def test_a_real_one_that_was_altered_is_not_good(released: Path, part: str) -> None:
    value = json.loads((released / f"{SIGNED}.publish.attestation").read_text("utf-8"))
    content = bytearray(base64.b64decode(value["envelope"][part]))
    content[-10] ^= 1
    value["envelope"][part] = base64.b64encode(bytes(content)).decode()
    text, sha256 = json.dumps(value), digest_file(released / SIGNED)
    try:
        found = attestations.verify(text, b"{}", wheel=SIGNED, sha256=sha256, identities=[GITHUB])
    except UsageError:  # the statement is no JSON any more
        found = None
    assert found is None


@pytest.mark.slow
def test_only_an_attestation_of_this_wheel_is_kept(released: Path, tmp_path: Path) -> None:
    give = attestation_signer(released / f"{SIGNED}.publish.attestation")
    assert give(b"{}", released / SIGNED).kind == "pep740"
    other = tmp_path / SIGNED
    other.write_bytes(b"other bytes")
    with pytest.raises(IntegrityError, match="is not a trusted attestation"):
        give(b"{}", other)
