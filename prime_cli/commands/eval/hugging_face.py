"""A run as a data set on the Hugging Face Hub, for `prime eval run` and `prime eval export`.

Imports what a push needs when there is one: `prime eval run` starts without it.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from prime_cli.core.errors import PrimeError
from prime_cli.runs.saved_run import SavedRun, open_run
from prime_cli.session import Session


class Pushed(msgspec.Struct, frozen=True):
    """A data set on the Hugging Face Hub, and the run that is in it."""

    run_id: str
    url: str
    rollouts: int


def check_dataset_push(session: Session, environ: Mapping[str, str]) -> None:
    """Raise what would stop a push, before anything is paid for: see `require_pushing`."""
    from prime_cli.evals.export.hugging_face import require_pushing

    require_pushing(environ, offline=session.config.offline)


def push_as_dataset(
    session: Session,
    saved: SavedRun,
    name: str | None,
    *,
    environ: Mapping[str, str],
    public: bool = False,
) -> None:
    """Push `saved` and say where it is; raises what `push_dataset` raises."""
    check_dataset_push(session, environ)
    pushed = _push(session, saved, name, environ, public=public)
    session.output.done(f"Pushed {pushed.run_id} to {pushed.url}", value=pushed)


def push_as_dataset_at_end(
    session: Session, folder: Path, name: str | None, *, environ: Mapping[str, str]
) -> None:
    """The same at the end of a run, whose exit code a push that fails does not change."""
    try:
        pushed = _push(session, open_run(folder), name, environ, public=False)
    except PrimeError as error:
        again = f"prime eval export {folder.name} -H" + (f" -D {name}" if name else "")
        session.output.warn(error.message, hint=f"the run is kept; push it with `{again}`")
    else:
        session.output.say(f"Pushed to {pushed.url}")


def _push(
    session: Session,
    saved: SavedRun,
    name: str | None,
    environ: Mapping[str, str],
    *,
    public: bool,
) -> Pushed:
    from prime_cli.evals.export.exports import Format, export_run
    from prime_cli.evals.export.hugging_face import push_dataset

    with tempfile.TemporaryDirectory(prefix="prime-export-") as folder:
        done = export_run(saved, Format.HF, Path(folder), session.progress)
        with session.progress.task("Pushing to the Hugging Face Hub"):
            url = push_dataset(Path(folder), name or _name(saved), environ=environ, public=public)
    return Pushed(done.run_id, url, done.rollouts)


def _name(saved: SavedRun) -> str:
    from prime_cli.evals.export.hugging_face import dataset_name

    if saved.manifest is not None:
        environment = saved.manifest.plan.environment.name
    else:
        environment = str((saved.official or {}).get("env_id", "")).rpartition("/")[2]
    return dataset_name(saved.summary(), environment or "evaluation")
