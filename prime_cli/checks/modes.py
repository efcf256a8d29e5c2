"""Whether others on this machine can read what is prime's: its keys, and the hub in the box."""

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from prime_cli.checks.findings import Finding, failed, ok, skipped, warned
from prime_cli.checks.place import Place
from prime_cli.core.formatting import first_few

NAME = "modes"
_SECRET = ("credentials.toml", "config.json", "hub/secret.key")
"""They hold keys; `config.json` is the official client's."""
_PRIVATE = ("config.toml", "hub", "hub/hub.db")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine(place: Place) -> list[Finding]:
    """Failed where a key can be read by others, a warning where anything else can be."""
    if sys.platform == "win32":
        return [skipped(NAME, "Windows has no modes; the home folder is the user's own")]
    if not place.home.exists():
        return [ok(NAME, f"{place.home} is not there yet")]
    foreign = [path for path in _present(place.home) if path.stat().st_uid != os.getuid()]
    if foreign:
        user, paths = os.getuid(), shlex.join(map(str, foreign))
        sentence = f"{first_few(foreign)} {_verb(foreign)} to another user"
        return [failed(NAME, sentence, f"`sudo chown -R {user} {paths}`")]
    return [_judge(place.home)]


def _judge(home: Path) -> Finding:
    if not home.stat().st_mode & _OTHERS:
        # What is in a closed folder is closed, whatever its own mode.
        return ok(NAME, f"{home} is closed to others")
    open_ones = [path for path in _present(home) if path.stat().st_mode & _OTHERS]
    secrets = [path for path in open_ones if path in {home / name for name in _SECRET}]
    folders = [path for path in open_ones if path.is_dir()]
    files = [path for path in open_ones if not path.is_dir()]
    fix = "; ".join(
        f"`chmod {mode} {shlex.join(map(str, paths))}`"
        for mode, paths in (("700", folders), ("600", files))
        if paths
    )
    if secrets:
        return failed(NAME, f"Others can read {first_few(secrets)}, with a key within", fix)
    return warned(NAME, f"Others can read {first_few(open_ones)}", fix)


def _present(home: Path) -> Iterator[Path]:
    yield home
    for name in (*_SECRET, *_PRIVATE):
        if (path := home / name).exists():
            yield path


def _verb(paths: list[Path]) -> str:
    return "belongs" if len(paths) == 1 else "belong"
