"""What prime itself weighs: time, size and number of packages of its installation with uv.

    python benchmarks/install/size.py [REQUIREMENT ...]

Builds the wheel of this checkout, or takes the requirements that are named (`prime==0.18.0`),
and installs into an empty venv: once with an empty uv cache, where everything is downloaded, and
once more with the cache that is then warm, without and with bytecode compiled. Sizes are the
apparent sizes of the files in site-packages.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    uv = shutil.which("uv") or "uv"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        environ = os.environ | {"UV_CACHE_DIR": str(work / "cache")}
        subprocess.run([uv, "build", "-q", "--wheel", "-o", work / "dist", ROOT], check=True)
        wanted = sys.argv[1:] or [str(next((work / "dist").glob("*.whl")))]
        print(f"{Path(wanted[0]).name}, Python {sys.version.split()[0]}")
        print(f"{'uv cache':<16} wall s  CPU s    MB  packages")
        for label, words in (
            ("cold", []),
            ("warm", []),
            ("warm, compiling", ["--compile-bytecode"]),
        ):
            venv = work / "venv"
            subprocess.run([uv, "venv", "-q", "--clear", "-p", sys.executable, venv], check=True)
            install = [uv, "pip", "install", "-q", *words, "-p", str(venv / "bin" / "python")]
            wall, cpu = timed([*install, *wanted], environ)
            site = next((venv / "lib").glob("python*/site-packages"))
            size, packages = weigh(site)
            print(f"{label:<16} {wall:6.1f} {cpu:6.1f} {size:5.0f} {packages:9}")
    print(f"load average {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


def timed(argv: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of a command that has to succeed."""
    before, began = os.times(), time.monotonic()
    subprocess.run(argv, env=environ, check=True)
    after = os.times()
    cpu = after.children_user + after.children_system
    return time.monotonic() - began, cpu - before.children_user - before.children_system


def weigh(site: Path) -> tuple[float, int]:
    """MB (10^6 bytes) of all files below `site`, and how many distributions it holds."""
    size = sum(path.lstat().st_size for path in site.rglob("*") if not path.is_dir())
    return size / 1e6, len(list(site.glob("*.dist-info")))


if __name__ == "__main__":
    main()
