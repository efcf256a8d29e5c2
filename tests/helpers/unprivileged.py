"""Be a user of this machine who owns one folder, without making one: nothing is left of it.

`unshare --mount python -m tests.helpers.unprivileged FOLDER UID WORD…` (as root) becomes the
program WORD…, as that user.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def sh(*words: str) -> None:
    """Run a program of the system to its end."""
    subprocess.run(words, check=True)


def show_code(folder: Path) -> None:
    """Let every user read this code and its Python, also if they are in root's closed home."""
    needed = {Path(sys.base_prefix), Path(sys.prefix), Path(__file__).parents[2]}
    for home in {up for each in needed for up in each.parents if not up.stat().st_mode & 1}:
        kept = {
            each: tempfile.mkdtemp("-code", dir=folder)
            for each in needed
            if each.is_relative_to(home)
        }
        for each, copy in kept.items():
            sh("mount", "--bind", str(each), copy)
        sh("mount", "-t", "tmpfs", "-o", "mode=755", "none", str(home))
        for each, copy in kept.items():
            each.mkdir(parents=True, exist_ok=True)
            sh("mount", "--bind", copy, str(each))


def become(user: int, folder: Path) -> None:
    """Be a user whose home is the folder."""
    if sys.platform == "win32":
        raise NotImplementedError
    show_code(folder)
    for each in (folder, *folder.iterdir()):
        if not each.name.endswith("-code"):
            os.chown(each, user, user)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    os.environ["HOME"] = str(folder)


def main() -> None:
    become(int(sys.argv[2]), Path(sys.argv[1]))
    os.execvp(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
