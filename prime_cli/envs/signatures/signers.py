"""Whose signatures are believed: `allowed_signers` for ssh, `allowed_identities` for sigstore.

`allowed_signers` has OpenSSH's own format (ssh-keygen(1), ALLOWED SIGNERS), with owners of
environments as principals; `allowed_identities` has a line `owner identity issuer` for each.
"""

from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import home_path, storage_errors, write_atomically
from prime_cli.core.refs import read_owner
from prime_cli.core.ssh_signatures import NAMESPACE

KEYS = "allowed_signers"
IDENTITIES = "allowed_identities"
_KEY_WORDS = 2
_IDENTITY_WORDS = 3


@dataclass(frozen=True)
class SigstoreIdentity:
    """The identity of a sigstore certificate: an e-mail address or a workflow, by `issuer`."""

    identity: str
    issuer: str


@dataclass(frozen=True)
class AllowedSigner:
    """A line of either file: `kind` is `ssh` or `sigstore`, `signer` the rest of the line."""

    owner: str
    kind: str
    signer: str


class AllowedSigners:
    """The two files in `home`."""

    def __init__(self, home: Path) -> None:
        self.keys = home_path(home, KEYS)
        self._identities = home_path(home, IDENTITIES)

    def all(self) -> list[AllowedSigner]:
        """Every line of both, comments left out."""
        keys = [AllowedSigner(owner, "ssh", rest) for owner, rest in _split(self.keys)]
        others = [AllowedSigner(o, "sigstore", rest) for o, rest in _split(self._identities)]
        return [*keys, *others]

    def identities_of(self, owner: str) -> list[SigstoreIdentity]:
        """The identities that may sign for `owner`."""
        found = [rest.split() for name, rest in _split(self._identities) if name == owner]
        return [SigstoreIdentity(*words) for words in found if len(words) == _IDENTITY_WORDS - 1]

    def add_key(self, owner: str, key: str) -> None:
        """Believe an ssh key, given as its public line (`ssh-ed25519 AAAA… comment`).

        Raises UsageError for what is no public key.
        """
        words = key.split()
        if len(words) < _KEY_WORDS or "PRIVATE KEY" in key or "\n" in key.strip():
            raise UsageError(
                "This is not a single public SSH key such as `ssh-ed25519 AAAA…`",
                hint="pass the file that ends in `.pub`",
            )
        _add(self.keys, f'{read_owner(owner)} namespaces="{NAMESPACE}" {" ".join(words)}')

    def add_identity(self, owner: str, identity: SigstoreIdentity) -> None:
        """Believe an identity of sigstore; raises UsageError for one with blanks in it."""
        words = [read_owner(owner), identity.identity, identity.issuer]
        if any(len(word.split()) != 1 for word in words):
            raise UsageError("An identity and its issuer must be one word each")
        _add(self._identities, " ".join(words))

    def remove(self, owner: str) -> int:
        """Take every line that begins with `owner` out of both files; how many there were."""
        return _remove(self.keys, owner) + _remove(self._identities, owner)


def _lines(file: Path) -> list[str]:
    with storage_errors(file):
        if not file.is_file():
            return []
        return file.read_text(encoding="utf-8", errors="replace").splitlines()


def _split(file: Path) -> list[tuple[str, str]]:
    """The first word and the rest of each line that says something."""
    told = (line.strip() for line in _lines(file))
    parts = (line.split(maxsplit=1) for line in told if line and not line.startswith("#"))
    return [(part[0], part[1] if len(part) > 1 else "") for part in parts]


def _add(file: Path, line: str) -> None:
    lines = _lines(file)
    if line not in lines:
        write_atomically(file, "".join(f"{each}\n" for each in [*lines, line]).encode())


def _remove(file: Path, owner: str) -> int:
    lines = _lines(file)
    kept = [line for line in lines if line.split(maxsplit=1)[:1] != [owner]]
    if len(kept) < len(lines):
        write_atomically(file, "".join(f"{each}\n" for each in kept).encode())
    return len(lines) - len(kept)
