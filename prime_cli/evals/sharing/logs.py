"""What the environment of a run printed: its last part, kept beside the evaluation."""

from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.paths import storage_errors
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.scrubber import Scrubber
from prime_cli.wire.evaluations import LOGS_FEATURE, MOST_LOG_BYTES

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient

_OTHERS = ("env_server.log", "logs/latest/eval.log")
"""Where vf-eval 0.1.14, and the evaluator of verifiers 0.4, write theirs."""


def find_log(folder: RunFolder) -> Path | None:
    """The log of a run, ours or vf-eval's; None where there is none."""
    paths = (folder.log, *(folder.path / name for name in _OTHERS))
    return next((path for path in paths if path.is_file()), None)


def read_log(path: Path, *, most_bytes: int | None = None) -> str:
    """The text of a log, its last `most_bytes` from the beginning of a line; raises StorageFailed.

    Bytes that are no UTF-8 are replaced.
    """
    with storage_errors(path), path.open("rb") as file:
        size = path.stat().st_size
        start = 0 if most_bytes is None else max(0, size - most_bytes)
        file.seek(start)
        content = file.read(size - start)
    if start:
        content = content.partition(b"\n")[2]
    return content.decode("utf-8", "replace")


def push_log(hub: "HubClient", evaluation_id: str, folder: RunFolder, scrub: Scrubber) -> bool:
    """Keep the run's log beside its evaluation, in place of an older one; whether that was done.

    Hubs that do not say that they keep logs get none.
    """
    path = find_log(folder)
    if path is None or LOGS_FEATURE not in hub.capabilities().features:
        return False
    text = scrub.text(read_log(path, most_bytes=MOST_LOG_BYTES))
    hub.evaluations.put_logs(evaluation_id, text)
    return True
