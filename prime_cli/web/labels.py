"""Labelling the rollouts of a run: one at a time, blind, in an order of each person's own."""

import shlex
from collections import Counter
from math import isnan
from urllib.parse import quote

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.evals.gate.calibration import FEWEST
from prime_cli.evals.gate.labels import (
    PersonLabel,
    labelling_order,
    save_label,
    saved_labels,
)
from prime_cli.pages.labels import LabelView, PeopleView
from prime_cli.pages.paging import Cursor
from prime_cli.pages.runs import Link
from prime_cli.pages.texts import Address, show
from prime_cli.pages.turns import ROOM, lay_out
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.tally import RolloutKey
from prime_cli.web.library import run_path
from prime_cli.web.opened import LocalRun
from prime_cli.web.rollout_view import local_sample

_ANSWER_BYTES = 6_000
_SKIP = "skip"
_PASSES = {"pass": True, "fail": False}


def labels_path(name: str, person: str = "", rollout: RolloutKey | None = None) -> str:
    """Where people label the run: all of them, one, or one of them a rollout."""
    path = f"{run_path(name)}/labels"
    if person:
        path += f"/{quote(person, safe='')}"
    return path if rollout is None else f"{path}/{rollout[0]}.{rollout[1]}"


def require_labels(run: SavedRun) -> None:
    """Raise UsageError for a run whose judge cannot be compared with people."""
    if run.manifest is None:
        raise UsageError(f"Run {run.folder.run_id} is of another tool: its judge is not known")
    if not run.index.rewards():
        raise UsageError(f"No rollout of run {run.folder.run_id} has a score yet")


def view_people(run: LocalRun, name: str) -> PeopleView:
    """Who has labelled how much of a run; raises as `require_labels`."""
    require_labels(run.saved)
    labels, total = saved_labels(run.saved.folder), len(_scored(run))
    counts = Counter(each.person for each in labels)
    command = f"prime judge label {run.run_id}"
    if len({each.rollout for each in labels}) >= FEWEST:
        command = f"prime judge calibrate {run.run_id}"
    return PeopleView(
        path=labels_path(name),
        run=Link("The run, with its scores", run_path(name)),
        people=[
            (Link(person, labels_path(name, person)), f"{count:,} of {total:,}")
            for person, count in sorted(counts.items())
        ],
        note=f"To compare a judge with people, {pluralize(FEWEST, 'labelled rollout')} are needed",
        command=command,
    )


def view_label(
    run: LocalRun, name: str, person: str, rollout: RolloutKey, cursor: Cursor
) -> LabelView:
    """A rollout as a person labels it, with the turns at `cursor`; raises as `local_sample`.

    Neither the model nor any score is on the page.
    """
    order = _order(run, person)
    if rollout not in order:
        raise NotFound(f"Run {run.run_id} has no score of rollout {rollout[0]}.{rollout[1]}")
    said = _said(run, person)
    before = next((each for each in reversed(said) if each != rollout), None)
    sample = local_sample(run, *rollout)
    path = labels_path(name, person, rollout)
    label = said.get(rollout)
    answer = sample.answer not in (None, "")
    return LabelView(
        path=path,
        people=Link(person, labels_path(name)),
        title=f"Example {rollout[0]}, rollout {rollout[1]}",
        done=sum(each in said for each in order),
        total=len(order),
        said="" if label is None else "pass" if label.passes else "fail",
        previous=None if before is None else labels_path(name, person, before),
        conversation=lay_out(sample.prompt, sample.completion, path, cursor, ROOM),
        answer=show(sample.answer, Address(path) / "answer", _ANSWER_BYTES) if answer else None,
        command=f"prime judge label {run.run_id} --as {shlex.quote(person)}",
    )


def give_label(run: LocalRun, person: str, rollout: RolloutKey, label: str) -> None:
    """Keep what a form says of a rollout; raises UsageError, NotFound, Conflict, StorageFailed."""
    if label == _SKIP:
        return
    if label not in _PASSES:
        raise UsageError(f"`{label[:50]}` is not a label")
    if rollout not in _order(run, person):
        raise NotFound(f"Run {run.run_id} has no score of rollout {rollout[0]}.{rollout[1]}")
    save_label(run.saved.folder, PersonLabel(rollout, person, _PASSES[label]))


def next_label(run: LocalRun, name: str, person: str, after: RolloutKey | None = None) -> str:
    """Where a person goes on: at the next rollout without a label, or at the end of all.

    What was skipped comes again after the last. Raises as `require_labels`.
    """
    require_labels(run.saved)
    order, said = _order(run, person), _said(run, person)
    start = order.index(after) + 1 if after in order else 0
    ahead = (each for each in (*order[start:], *order[:start]) if each not in said)
    found = next(ahead, None)
    return labels_path(name) if found is None else labels_path(name, person, found)


def _scored(run: LocalRun) -> list[RolloutKey]:
    layout, rewards = run.layout, run.layout.rewards
    return [layout.entries.key(each) for each in layout.latest if not isnan(rewards[each])]


def _order(run: LocalRun, person: str) -> list[RolloutKey]:
    name = f"labels of {person}"
    return run.once(name, lambda: labelling_order(run.run_id, person, _scored(run)))


def _said(run: LocalRun, person: str) -> dict[RolloutKey, PersonLabel]:
    """What a person has labelled of the run, the last label last."""
    labels = saved_labels(run.saved.folder)
    return {each.rollout: each for each in labels if each.person == person}
