"""What tells one run from another, and one state of a run from the next."""

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

from prime_cli.core.paths import storage_errors
from prime_cli.runs.saved_run import SavedRun

_KEY = "prime-run-"


def content_of(run: SavedRun) -> str:
    """A digest that changes when the run does: of its small files, and the sizes of large ones."""
    folder = run.folder
    if run.manifest is not None:
        return _digest(_facts([folder.manifest], [folder.journal]))
    return _digest(_facts([folder.metadata], [folder.results, folder.traces]))


def key_of(run: SavedRun, *, anew: bool) -> str:
    """The name under which a run asks for its evaluation, the same wherever the run is copied to.

    `anew` gives one that nobody has used.
    """
    if anew:
        return _KEY + secrets.token_hex(16)
    if run.manifest is None:
        return _KEY + _digest([run.folder.run_id, content_of(run)])
    plan = run.manifest.plan
    return _KEY + _digest(
        [run.manifest.run_id, run.manifest.started, plan.environment.sha256, plan.model]
    )


def _facts(read: Iterable[Path], measured: Iterable[Path]) -> Iterable[str]:
    for path in read:
        if path.exists():
            with storage_errors(path):
                yield f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    for path in measured:
        if path.exists():
            with storage_errors(path):
                yield f"{path.name} {path.stat().st_size}"


def _digest(facts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]
