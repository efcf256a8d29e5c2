"""Signatures by ssh keys, made and checked by `ssh-keygen -Y` (OpenSSH 8.1 and later).

What is signed is an in-toto statement (version 1 of its specification) as canonical JSON.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.process import Completed, TimedOut, child_environment, run

NAMESPACE = "prime-env"
"""Keeps a signature over anything else, as of a git commit, from being one of a wheel."""

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
RECEIPT_TYPE = "urn:prime-cli:receipt:v1"
"""The predicate type of a statement about the receipt of a run."""
_SECONDS = 60
_KEY = re.compile(r"with (?P<kind>\S+) key (?P<fingerprint>SHA256:\S+)")


@dataclass(frozen=True)
class SshSigner:
    """The key of a good signature (`ED25519 SHA256:…`), and whether the owner's file has it."""

    key: str
    allowed: bool


def encode_statement(kind: str, predicate: dict[str, str | None], name: str, sha256: str) -> bytes:
    """The statement of a predicate type about one file: ASCII, sorted keys, no blanks."""
    statement = {
        "_type": STATEMENT_TYPE,
        "predicate": predicate,
        "predicateType": kind,
        "subject": [{"digest": {"sha256": sha256}, "name": name}],
    }
    return json.dumps(statement, sort_keys=True, separators=(",", ":")).encode("ascii")


def find_key(path: Path) -> Path:
    """The key's file; raises NotFound, or UsageError without ssh-keygen."""
    _program()
    found = path.expanduser()
    if not found.is_file():
        raise NotFound(f"There is no key {found}", hint="create one with `ssh-keygen -t ed25519`")
    return found


def sign(key: Path, statement: bytes) -> str:
    """The armoured signature of `statement` by a private key, or by the agent's for a `.pub`.

    A passphrase is asked for by ssh-keygen itself, on the terminal. Raises NotFound without the
    key, UsageError where ssh-keygen does not sign.
    """
    path = find_key(key)
    with tempfile.TemporaryDirectory(prefix="prime-sign-") as folder:
        message = Path(folder) / "statement.json"
        message.write_bytes(statement)
        argv = [_program(), "-Y", "sign", "-q", "-f", str(path), "-n", NAMESPACE, str(message)]
        # Not in a session of its own, which would have no terminal to ask for a passphrase.
        done = subprocess.run(argv, env=child_environment(), capture_output=True, check=False)
        signed = message.with_name("statement.json.sig")
        if done.returncode or not signed.is_file():
            raise UsageError(
                f"ssh-keygen cannot sign with {path}",
                detail=done.stderr.decode("utf-8", "replace"),
                hint="pass a private key, or a public key whose private key is in the agent",
            )
        return signed.read_text(encoding="ascii")


def verify(statement: bytes, signature: str, owner: str, allowed: Path) -> SshSigner | None:
    """The signer of a good signature of `statement`, None for one that is not good.

    `allowed` is a file of allowed signers, in which the key must be one of `owner`.
    """
    with tempfile.TemporaryDirectory(prefix="prime-verify-") as folder:
        file = Path(folder) / "signature"
        file.write_text(signature, encoding="utf-8", newline="\n")
        common = ["-n", NAMESPACE, "-s", str(file)]
        good = _ask(["check-novalidate", *common], statement)
        found = _KEY.search(good.out)
        if not good.ok or found is None:
            return None
        known = (
            allowed.is_file()
            and _ask(["verify", "-f", str(allowed), "-I", owner, *common], statement).ok
        )
        return SshSigner(f"{found['kind']} {found['fingerprint']}", allowed=bool(known))


def _ask(words: list[str], statement: bytes) -> Completed:
    try:
        return run([_program(), "-Y", *words], input=statement.decode("ascii"), timeout=_SECONDS)
    except TimedOut as error:
        return error.partial


def _program() -> str:
    found = shutil.which("ssh-keygen", path=os.environ.get("PATH"))
    if found is None:
        raise UsageError(
            "SSH signatures need ssh-keygen, which is not installed",
            hint="install OpenSSH (the package `openssh-client`)",
        )
    return found
