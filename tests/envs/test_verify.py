"""Verifying what a hub shows with other sources than those it had when they were signed."""

import json
from pathlib import Path

import httpx
import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.core import ssh_signatures as ssh
from prime_cli.core.archive.sources import list_sources, write_source_archive
from prime_cli.core.errors import IntegrityError
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.envs.fetch import fetch_wheel
from prime_cli.envs.signatures.signers import AllowedSigners
from prime_cli.envs.trust import TrustPolicy
from prime_cli.envs.verify import verify_environment
from prime_cli.wire.locks import Signature, Signatures
from prime_cli.wire.version_documents import SIGNATURES
from tests.helpers.hubs import open_hub, publish
from tests.helpers.served import served_hub
from tests.helpers.ssh_keys import make_key, needs_ssh_keygen, public_line
from tests.helpers.wild import write_project

TINY = EnvRef("ada", "tiny-env")


class OtherSources(httpx.BaseTransport):
    """A hub that tells the truth, but for the archive of sources."""

    def __init__(self, archive: bytes) -> None:
        self._honest = httpx.HTTPTransport()
        self._archive = archive

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._honest.handle_request(request)
        content = answer.read()
        if request.url.path.endswith(("/@latest", "/@0.1.0")):
            told = json.loads(content)
            told["data"]["sha256"] = None
            content = json.dumps(told).encode()
        elif content.startswith(b"\x1f\x8b"):
            content = self._archive
        kind = answer.headers.get("content-type", "")
        stream = httpx.ByteStream(content)
        return httpx.Response(answer.status_code, stream=stream, headers={"content-type": kind})


@needs_ssh_keygen
def test_unsigned_sources_are_not_built_if_signatures_are_required(
    tmp_path: Path,
) -> None:
    home, key = tmp_path / "home", make_key(tmp_path / "ssh")
    box = open_hub(tmp_path / "hub")
    ref = publish(box, tmp_path)
    fetched = fetch_wheel(box, ref, progress=Silent(), home=home)
    signature = Signature("ssh", ssh.sign(key, fetched.statement))
    box.documents.put(ref, SIGNATURES, Signatures(fetched.package.sha256, (signature,)))
    AllowedSigners(home).add_key("ada", public_line(key))
    other = write_project(tmp_path / "other")
    write_source_archive(list_sources(other), tmp_path / "other.tar.gz")
    way = OtherSources((tmp_path / "other.tar.gz").read_bytes())
    trust = TrustPolicy(home, named=["ada"], require_signature=True)
    with served_hub(tmp_path / "hub") as url:
        hub = HubClient(url, transport=way, outside=way)
        with pytest.raises(IntegrityError, match="do not match the signature"):
            verify_environment(hub, TINY, trust=trust, progress=Silent())
