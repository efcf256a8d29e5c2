"""A scripted SkyPilot on disk, with the command `sky`, in a virtual environment of its own."""

import json
import secrets
import shutil
import venv
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prime_cli.hub.compute.provider import PodSpec
from prime_cli.hub.compute.sky.installation import SkyInstallation
from prime_cli.hub.compute.sky.provider import SkyProvider
from tests.helpers.local_pods import wait_until

_PACKAGE = Path(__file__).parent / "skypilot" / "sky"
_COMMAND = '''#!{python}
import pathlib, sys
name = sys.argv[2]
file = pathlib.Path.home() / ".sky" / "generated" / "ssh" / name
file.parent.mkdir(parents=True, exist_ok=True)
file.write_text("""{config}""".replace("NAME", name), encoding="utf-8")
'''
DIRECT = """\
Host NAME
  HostName 192.0.2.7
  User ubuntu
  IdentityFile ~/.sky/key
  StrictHostKeyChecking no
  UserKnownHostsFile=/dev/null
  Port 22

Host NAME-worker1
  HostName 192.0.2.8
  User ubuntu
  Port 2200
"""
PROXIED = DIRECT.split("\n\n", maxsplit=1)[0] + "\n  ProxyCommand proxy %h\n"
H100 = {
    "instance_type": "p5.48xlarge", "accelerator_name": "H100", "accelerator_count": 8,
    "cpu_count": 192, "device_memory": 80.0, "memory": 2048.0, "price": 98.32,
    "spot_price": 30.5, "region": "us-east-1",
}  # fmt: skip
ODD = {**H100, "accelerator_name": "Trainium", "instance_type": "trn1"}


class FakeSky:
    """A SkyPilot that may use Slurm's `lab` and AWS, and does what its world says."""

    def __init__(self, folder: Path, *, version: str = "0.14.1") -> None:
        self.folder = folder / "skypilot"
        venv.create(self.folder, with_pip=False, symlinks=True)
        packages = next((self.folder / "lib").glob("python*/site-packages"))
        shutil.copytree(_PACKAGE, packages / "sky")
        about = packages / f"skypilot-{version}.dist-info"
        about.mkdir()
        text = f"Metadata-Version: 2.1\nName: skypilot\nVersion: {version}\n"
        (about / "METADATA").write_text(text, encoding="utf-8")
        self.data = folder / "sky"
        self._world: dict[str, Any] = {
            "enabled": ["slurm/lab", "aws"],
            "accelerators": {"aws": {"H100": [H100], "Trainium": [ODD]}},
            "troubles": {},
            "refused": {"slurm": ["AUTOSTOP", "DOCKER_IMAGE"]},
            "credentials": {},
            "no_upload": [],
            "clusters": {},
            "cancelled": [],
            "launch": "ok",
            "down": "ok",
            "setup": 0,
            "job": "FAILED_SETUP",
            "unreached": False,
        }
        self.set()
        self.way_in(DIRECT)

    @property
    def command(self) -> Path:
        return self.folder / "bin" / "sky"

    def set(self, **changes: Any) -> None:
        """Change its world; what it changed by itself stays."""
        file = self.folder / "world.json"
        there = json.loads(file.read_bytes()) if file.exists() else self._world
        temporary = file.with_name("world.test")
        temporary.write_bytes(json.dumps({**there, **changes}).encode())
        temporary.replace(file)

    def way_in(self, config: str) -> None:
        """Let its command write this file of ssh."""
        text = _COMMAND.format(python=self.folder / "bin" / "python", config=config)
        self.command.write_text(text, encoding="utf-8")
        self.command.chmod(0o755)

    def calls(self, name: str) -> list[dict[str, Any]]:
        """What was asked of it, as it came."""
        file = self.folder / "calls.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [call for call in map(json.loads, lines) if call["call"] == name]

    def clusters(self) -> dict[str, str]:
        return dict(json.loads((self.folder / "world.json").read_bytes())["clusters"])

    def provider(self, *, embedded: bool = True, infra: tuple[str, ...] = ()) -> SkyProvider:
        return SkyProvider(SkyInstallation(str(self.command)), self.data, infra, embedded)


def order_of(provider: SkyProvider, cloud_id: str, **wishes: Any) -> PodSpec:
    """A pod for an hour, of one of the provider's offers."""
    offer = next(each for each in provider.offers() if each.cloud_id == cloud_id)
    tag = f"prime-{secrets.token_hex(4)}-0123456789ab"
    stop_at = datetime.now(UTC) + timedelta(hours=1)
    made = PodSpec(tag, "id-of-the-pod", "mine", "ada", offer, stop_at, ("ssh-ed25519 AAAA ada",))
    return replace(made, **wishes)


def until(provider: SkyProvider, tag: str, status: str) -> Any:
    """Wait until a pod is so; what is seen of it then."""

    def look() -> Any:
        seen = provider.inspect([tag]).get(tag)
        return seen if seen is not None and seen.status == status else None

    return wait_until(look, what=f"{tag} is {status}")
