"""Bundles made by hand, for readers to refuse."""

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prime_cli.core.digests import digest_bytes, digest_file
from prime_cli.envs.bundles.manifest import NAME
from prime_cli.envs.bundles.platforms import this_platform
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import EnvironmentDetail, Owner
from tests.helpers.wild import write_wheel

Entry = tuple[str, bytes]


def zip_of(
    path: Path, entries: Sequence[Entry], *, method: int = zipfile.ZIP_STORED, mode: int = 0o100644
) -> Path:
    """A zip file of these members; a name may come twice."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o100644 if name == NAME else mode) << 16
            info.compress_type = zipfile.ZIP_STORED if name == NAME else method
            archive.writestr(info, content)
    return path


def manifest_of(members: Mapping[str, bytes], **more: Any) -> dict[str, Any]:
    """A manifest that tells the truth about `members`."""
    return {
        "schema": 1,
        "targets": [{"platform": this_platform(), "python": "3.11"}],
        "environments": [],
        "members": [
            {"path": name, "size": len(content), "sha256": digest_bytes(content)}
            for name, content in members.items()
        ],
        **more,
    }


def bundle_of(path: Path, members: Mapping[str, bytes], **more: Any) -> Path:
    """A bundle whose manifest tells the truth."""
    head = json.dumps(manifest_of(members, **more)).encode()
    return zip_of(path, [(NAME, head), *members.items()])


def environment_of(folder: Path, ref: str = "ada/tiny-env@0.1.0") -> dict[str, bytes]:
    """The members of an environment; `listed` tells of it in a manifest."""
    wheel = write_wheel(folder, {"tiny_env.py": "def load_environment(): ...\n"})
    sha256 = digest_file(wheel)
    owner, _, rest = ref.partition("/")
    name, _, version = rest.partition("@")
    detail = EnvironmentDetail(
        id="env_1", name=name, owner=Owner(owner), semantic_version=version, wheel_sha256=sha256
    )
    place = f"environments/{sha256}"
    return {
        f"{place}/{wheel.name}": wheel.read_bytes(),
        f"{place}/record.json": encode({"detail": detail}),
    }


def listed(members: Mapping[str, bytes], ref: str = "ada/tiny-env@0.1.0") -> dict[str, Any]:
    """The manifest's line about the environment among `members`."""
    wheel = next(name for name in members if name.endswith(".whl"))
    return {
        "ref": ref,
        "wheel": wheel,
        "record": f"{wheel.rpartition('/')[0]}/record.json",
        "wheel_sha256": hashlib.sha256(members[wheel]).hexdigest(),
        "verifiers": "0.1.14",
        "packages": 0,
    }
