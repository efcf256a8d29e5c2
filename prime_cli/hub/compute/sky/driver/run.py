"""Query SkyPilot, or launch or end a cluster with it; run by SkyPilot's interpreter.

    python run.py offers|status      a question in JSON on stdin, the answer in JSON on stdout
    python run.py launch|down FOLDER returns at once; a process of its own does it, and writes
                                     result.json (launch) or down.json there when it has ended

An answer is `{"ok": …}`, or `{"failure": SENTENCE, "detail": LINES}`. Only the standard library
and SkyPilot (0.14.1 was tried) are imported here, and never anything of prime.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import IO, Any

_TRIES = 20
_PAUSE = 0.05


def _beside(name: str) -> Any:
    """A script in the same folder; they are not a package when run."""
    return importlib.import_module(f"{__package__}.{name}" if __package__ else name)


_package, _offers, _clusters = map(_beside, ("sky_package", "sky_offers", "sky_clusters"))


def main(arguments: list[str]) -> int:
    if arguments[0] in ("launch", "down"):
        return _detach(arguments[0], Path(arguments[1]))
    # SkyPilot prints to stdout, which is reserved for the answer.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    question = json.load(sys.stdin)
    json.dump(_guarded(lambda: {"ok": _ANSWERS[arguments[0]](question)}), out)
    out.close()
    return 0


def _guarded(work: Any) -> dict[str, Any]:
    try:
        return dict(work())
    except _package.Refused as error:
        return {"failure": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever SkyPilot raises is told
        last = str(error).strip() or type(error).__name__
        return {"failure": last.splitlines()[0], "detail": traceback.format_exc()}


# Questions


def find_offers(question: dict[str, Any]) -> dict[str, Any]:
    """What can be rented in `infra`, and which of its user's files SkyPilot would put there."""
    sky, sdk = _package.load()
    rows = _offers.find_rows(sky, sdk, question["infra"])
    return {"rows": rows, "uploaded": _offers.find_uploaded(rows)}


def find_clusters(_question: dict[str, Any]) -> list[dict[str, str]]:
    """All clusters of this user; SkyPilot's server polls the clouds by itself."""
    sky, sdk = _package.load()
    return [
        {"name": each["name"], "status": each["status"].value} for each in sky.get(sdk.status())
    ]


_ANSWERS = {"offers": find_offers, "status": find_clusters}


# Work that outlives the command


def _detach(what: str, folder: Path) -> int:
    """Start `what` in a separate process, unless one is already running."""
    if sys.platform == "win32":
        raise OSError("SkyPilot does not run on Windows")
    lock = (folder / f"{what}.lock").open("w")
    if not _take(lock) or os.fork():
        return 0
    # The child keeps the lock until it ends, in whatever way.
    os.setsid()
    os.umask(0o077)
    with (folder / "log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    work, name = _WORK[what]
    result = _guarded(lambda: {"ok": work(folder)})
    if "detail" in result:
        sys.stderr.write(result["detail"])
    if folder.exists():
        _clusters.write(folder / name, result)
    sys.stdout.flush()
    os._exit(0)


_WORK = {
    "launch": (_clusters.launch, "result.json"),
    "down": (_clusters.down, "down.json"),
}


def _take(lock: IO[str]) -> bool:
    """Take a lock; False if another process works. A mere check holds it for a moment."""
    for _ in range(_TRIES):
        if _clusters.is_free(lock):
            return True
        time.sleep(_PAUSE)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
