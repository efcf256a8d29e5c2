"""The run or the hub's evaluation that is to be made again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.listing import find_run
from prime_cli.runs.manifest import Manifest
from prime_cli.runs.retries import AskedAgain
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun

if TYPE_CHECKING:
    from prime_cli.api.client import HubClient


@dataclass(frozen=True)
class Source:
    """What was run, and what came of it; `folder` is None for an evaluation of a hub."""

    name: str
    manifest: Manifest
    rows: Callable[[], Iterator[Row]]
    folder: RunFolder | None = None

    def asked_again(self) -> AskedAgain | None:
        """The rollouts whose model was asked more than once."""
        if self.folder is None:
            return self.manifest.asked_again
        return SavedRun(self.folder, self.manifest).asked_again()


def find_source(name: str, cwd: Path, hub: "Callable[[], HubClient]") -> Source:
    """The saved run `name` (id or folder), else the evaluation of that id on the hub.

    Raises NotFound where neither is, UsageError for one that another program made, and what
    reaching a hub raises.
    """
    try:
        run = find_run(name, cwd)
    except NotFound:
        return _on_hub(hub, name)
    if run.manifest is None:
        raise _foreign(str(run.folder.path))
    return Source(run.folder.run_id, run.manifest, run.rows, run.folder)


def _on_hub(hub: "Callable[[], HubClient]", name: str) -> Source:
    from prime_cli.evals.sharing.fetched import manifest_of, rows_of_evaluation

    try:
        detail = hub().evaluations.get(name)
    except NotFound as error:
        raise NotFound(
            f"There is no run `{name}` here and no such evaluation on the hub",
            hint="see the saved runs with `prime eval list`",
        ) from error
    manifest = manifest_of(detail)
    if manifest is None:
        raise _foreign(f"Evaluation {name}")
    return Source(name, manifest, lambda: rows_of_evaluation(hub(), name))


def _foreign(what: str) -> UsageError:
    return UsageError(
        f"{what} was not made by prime, and does not say with which packages and data",
        hint="run it anew with `prime eval run`, or replay it with `-m builtin/replay:RUN`",
    )
