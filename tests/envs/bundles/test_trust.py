"""Bundles that claim names and requirements of somebody else, and bundles that must be signed."""

from pathlib import Path

import pytest
from packaging.requirements import Requirement

from prime_cli.client.api.client import HubClient
from prime_cli.core import ssh_signatures as ssh
from prime_cli.core.errors import NotTrusted
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.envs.bundles.plan import BundleContext, BundleSpec
from prime_cli.envs.bundles.unpacked import find_unpacked, unpack_bundle
from prime_cli.envs.fetch import fetch_unpacked
from prime_cli.envs.install.dependencies import fetch_dependencies
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.envs.trust import TrustPolicy
from prime_cli.wire.locks import Signature, Signatures
from prime_cli.wire.version_documents import SIGNATURES
from tests.envs.bundles.conftest import make
from tests.envs.bundles.forging import bundle_of, environment_of, listed
from tests.helpers.hubs import open_hub, publish
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line

HELPER = "ada/tiny-env@0.1.0"


def _admit(file: Path) -> None:
    unpack_bundle(file, prime_home(), {}, Silent())


def _forged(folder: Path) -> Path:
    members = environment_of(folder, HELPER)
    return bundle_of(folder / "x.bundle", members, environments=[listed(members, HELPER)])


@pytest.mark.parametrize("offline", [False, True])
def test_a_bundle_gives_no_packages_to_environments_that_did_not_come_in_it(
    data: Path, tmp_path: Path, *, offline: bool
) -> None:
    hub = open_hub(data)
    trusted = publish(hub, tmp_path, "trusted-env")
    sha256 = hub.environments.get(trusted).wheel_sha256 or ""
    _admit(_forged(tmp_path))
    assert find_unpacked(prime_home(), EnvRef.parse(HELPER)) is not None
    found = fetch_dependencies(
        "ada",
        [Requirement("tiny-env")],
        hub=lambda: hub,
        progress=Silent(),
        offline=offline,
        wheels=[sha256],
    )
    assert found == []


def _required(file: Path, home: Path) -> None:
    trust = TrustPolicy(home, require_signature=True)
    unpack_bundle(file, home, {}, Silent(), check=lambda each: fetch_unpacked(each, trust))


@pytest.mark.usefixtures("index")
@needs_ssh_keygen
def test_signatures_travel_in_a_bundle_and_can_be_required(
    hub: HubClient, context: BundleContext, tmp_path: Path
) -> None:
    home, key = tmp_path / "elsewhere", make_key(tmp_path / "ssh")
    wish = BundleSpec((HELPER,), ("linux-x86_64",), ("3.11",))
    plain = make(context, wish, tmp_path / "plain.bundle")
    with pytest.raises(NotTrusted, match="is not signed"):
        _required(plain, home)
    assert not list((home / "bundles").iterdir())

    ref = EnvRef.parse(HELPER)
    _admit(plain)
    bundled = find_unpacked(prime_home(), ref)
    assert bundled is not None
    signature = Signature("ssh", ssh.sign(key, fetch_unpacked(bundled).statement))
    hub.documents.put(ref, SIGNATURES, Signatures(bundled.wheel_sha256, (signature,)))
    signed = make(context, wish, tmp_path / "signed.bundle")
    with pytest.raises(NotTrusted, match="no signature by a trusted signer"):
        _required(signed, home)
    AllowedSigners(home).add_key("ada", public_line(key))
    _required(signed, home)
    assert find_unpacked(home, ref) is not None
    AllowedSigners(home).remove("ada")
    with pytest.raises(NotTrusted):
        _required(signed, home)  # also where it was unpacked before
