"""Signatures that are required before an environment's code may run."""

from pathlib import Path

import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.core import ssh_signatures as ssh
from prime_cli.core.errors import NotTrusted
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.envs.fetch import FetchedEnvironment, fetch_wheel, verify_fetched_signatures
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.envs.trust import TrustPolicy
from prime_cli.wire.locks import Signature, Signatures
from prime_cli.wire.version_documents import SIGNATURES
from tests.helpers.hubs import publish
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line

pytestmark = needs_ssh_keygen
TINY = EnvRef("ada", "tiny-env")


def fetch(hub: HubClient, home: Path, *, required: bool = True) -> FetchedEnvironment:
    trust = TrustPolicy(home, require_signature=required)
    return fetch_wheel(hub, TINY, progress=Silent(), home=home, trust=trust)


def sign(hub: HubClient, home: Path, key: Path) -> None:
    fetched = fetch(hub, home, required=False)
    signature = Signature("ssh", ssh.sign(key, fetched.statement))
    hub.documents.put(fetched.ref, SIGNATURES, Signatures(fetched.package.sha256, (signature,)))


def test_what_is_not_signed_is_refused(hub: HubClient, tmp_path: Path) -> None:
    publish(hub, tmp_path)
    with pytest.raises(NotTrusted, match="is not signed"):
        fetch(hub, tmp_path / "home")


def test_what_an_allowed_signer_signed_is_taken(hub: HubClient, tmp_path: Path) -> None:
    home, key = tmp_path / "home", make_key(tmp_path / "ssh")
    publish(hub, tmp_path)
    sign(hub, home, key)
    with pytest.raises(NotTrusted, match="no signature by a trusted signer of `ada`") as refused:
        fetch(hub, home)
    assert "(unknown)" in (refused.value.detail or "")
    AllowedSigners(home).add_key("ada", public_line(key))
    fetched = fetch(hub, home)
    assert [each.verdict for each in verify_fetched_signatures(fetched, home)] == ["allowed"]


def test_a_signature_does_not_move_to_another_version(hub: HubClient, tmp_path: Path) -> None:
    home, key = tmp_path / "home", make_key(tmp_path / "ssh")
    AllowedSigners(home).add_key("ada", public_line(key))
    publish(hub, tmp_path)
    sign(hub, home, key)
    old = hub.documents.get(TINY, SIGNATURES)
    assert old is not None
    ref = publish(
        hub, tmp_path, version="0.2.0", files={"tiny_env.py": "def load_environment(): 2"}
    )
    newer = fetch(hub, home, required=False).package.sha256
    hub.documents.put(ref, SIGNATURES, Signatures(newer, old.signatures))
    with pytest.raises(NotTrusted) as refused:
        fetch(hub, home)
    assert "(bad)" in (refused.value.detail or "")
