"""`prime judge calibrate`: a judge's scores beside people's labels, and the record of it."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_exact, format_number, pluralize
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.statistics.agreement import (
    Confusion,
    RateEstimate,
    cohens_kappa,
    confuse,
    corrected_rate,
)

REWARD = "reward"
FEWEST = 30
"""Labelled rollouts: with fewer, the interval of kappa is wider than 0.6 and tells nothing."""

_WORDS = {
    **dict.fromkeys(("1", "true", "pass", "yes"), True),
    **dict.fromkeys(("0", "false", "fail", "no"), False),
}
_COLUMNS = ("example", "rollout", "person", "label")


class PersonLabel(msgspec.Struct, frozen=True):
    """What a person said of a rollout; `position` is where they or the judge saw it, if told."""

    rollout: tuple[int, int]
    person: str
    passes: bool
    position: str | None = None


class JudgeIdentity(msgspec.Struct, frozen=True):
    """What decides how a judge scores: its code and prompts (the wheel), arguments and models.

    `arguments` is a digest of those of the environment, where prompts and sampling may be set too;
    `models` are the models of all roles but the policy, as `role model`.
    """

    wheel_sha256: str
    arguments: str
    models: tuple[str, ...]

    def changes(self, other: "JudgeIdentity") -> list[str]:
        """What is different in `other`, in words."""
        words = {"wheel_sha256": "wheel", "arguments": "arguments", "models": "models"}
        return [word for name, word in words.items() if getattr(self, name) != getattr(other, name)]


class JudgeBias(msgspec.Struct, frozen=True):
    """Labelled rollouts of one kind (`shorter`, `position 2`): who passes which share of them."""

    group: str
    count: int
    judge_rate: float
    people_rate: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How far a judge agrees with people on a run; rates are shares from 0 to 1.

    A score of at least `threshold` passes. `contradicted` rollouts have labels of both kinds, which
    the majority decides; `undecided` are those without one, which are left out. `pass_rate` is the
    judge's of the whole run, `corrected` what people would say, None for a judge no better than
    chance.
    """

    schema: int = 1
    environment: str
    metric: str
    threshold: float
    judge: JudgeIdentity
    run_id: str
    made_at: str
    people: tuple[str, ...]
    labelled: int
    contradicted: int
    undecided: int
    confusion: Confusion
    base_rate: float
    judge_rate: float
    sensitivity: float
    specificity: float
    kappa: RateEstimate
    pass_rate: float
    corrected: RateEstimate | None
    biases: tuple[JudgeBias, ...]


def calibrate(
    run: SavedRun, labels: Sequence[PersonLabel], *, metric: str = REWARD, threshold: float = 0.5
) -> Calibration:
    """Compare the scores `metric` of `run` with labels of its rollouts.

    Raises UsageError for a run of another tool, a label of a rollout without a score, a person with
    two minds, fewer than FEWEST rollouts, and labels that are all the same.
    """
    if run.manifest is None:
        raise UsageError(f"Run {run.folder.run_id} is of another tool: its judge is not known")
    rows = {(row.example_id, row.rollout): row for row in run.rows()}
    scores = {key: score for key, row in rows.items() if (score := _score(row, metric)) is not None}
    if not scores:
        raise UsageError(f"No rollout of run {run.folder.run_id} has a score `{metric}`")
    votes = _votes(labels, scores, metric)
    people = {key: told for key, each in votes.items() if (told := _majority(each)) is not None}
    pairs = {key: (told, scores[key] >= threshold) for key, told in people.items()}
    _require_enough(pairs)
    table = confuse(pairs.values())
    passed = sum(score >= threshold for score in scores.values())
    environment = run.manifest.plan.environment
    return Calibration(
        environment=environment.name,
        metric=metric,
        threshold=threshold,
        judge=identify_judge(run.manifest.plan, rows.values()),
        run_id=run.folder.run_id,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        people=tuple(sorted({each.person for each in labels})),
        labelled=len(pairs),
        contradicted=sum(len(set(each.values())) > 1 for each in votes.values()),
        undecided=len(votes) - len(people),
        confusion=table,
        base_rate=table.base_rate,
        judge_rate=table.judge_rate,
        sensitivity=table.sensitivity,
        specificity=table.specificity,
        kappa=cohens_kappa(table),
        pass_rate=passed / len(scores),
        corrected=corrected_rate(table, len(scores), passed),
        biases=tuple(_biases(pairs, rows, labels)),
    )


def identify_judge(plan: EvalPlan, rows: Iterable[Row]) -> JudgeIdentity:
    """What judged these rows of a run with that plan."""
    arguments = msgspec.json.encode([plan.env_args, plan.extra_args], order="sorted")
    models = {f"{role} {model}" for row in rows for role, of in row.judges.items() for model in of}
    return JudgeIdentity(plan.environment.sha256, digest_bytes(arguments), tuple(sorted(models)))


def _score(row: Row, metric: str) -> float | None:
    if row.error is not None:
        return None
    return row.reward if metric == REWARD else row.metrics.get(metric)


Votes = Mapping[tuple[int, int], Mapping[str, bool]]


def _votes(
    labels: Sequence[PersonLabel], scores: Mapping[tuple[int, int], float], metric: str
) -> Votes:
    found: dict[tuple[int, int], dict[str, bool]] = defaultdict(dict)
    for each in labels:
        name = f"rollout {each.rollout[1]} of example {each.rollout[0]}"
        if each.rollout not in scores:
            raise UsageError(f"The labels name {name}, which has no score `{metric}` in this run")
        if found[each.rollout].setdefault(each.person, each.passes) is not each.passes:
            raise UsageError(f"{each.person[:80]} has labelled {name} twice, and differently")
    return found


def _majority(votes: Mapping[str, bool]) -> bool | None:
    passes = sum(votes.values())
    return None if 2 * passes == len(votes) else 2 * passes > len(votes)


def _require_enough(pairs: Mapping[tuple[int, int], tuple[bool, bool]]) -> None:
    if len(pairs) < FEWEST:
        raise UsageError(
            f"Only {pluralize(len(pairs), 'labelled rollout')}: to calibrate a judge, {FEWEST} are "
            "needed, or the interval of kappa would tell nothing",
            hint="label more rollouts; `prime eval show RUN --output jsonl` lists them",
        )
    if len({told for told, _ in pairs.values()}) == 1:
        raise UsageError(
            "All labels are the same, so nothing can be said of the judge's other answers",
            hint="label rollouts of both kinds, some that pass and some that fail",
        )


def _biases(
    pairs: Mapping[tuple[int, int], tuple[bool, bool]],
    rows: Mapping[tuple[int, int], Row],
    labels: Sequence[PersonLabel],
) -> Iterator[JudgeBias]:
    """Of the shorter and the longer half of the answers, and of each position that labels tell."""
    by_length = sorted(pairs, key=lambda key: len(msgspec.json.encode(rows[key].completion)))
    half = len(by_length) // 2
    yield _bias("shorter", [pairs[key] for key in by_length[:half]])
    yield _bias("longer", [pairs[key] for key in by_length[half:]])
    places = {each.rollout: each.position for each in labels if each.position}
    for place in sorted(set(places.values())):
        of_place = [pair for key, pair in pairs.items() if places.get(key) == place]
        if of_place:
            yield _bias(f"position {place}", of_place)


def _bias(group: str, pairs: Sequence[tuple[bool, bool]]) -> JudgeBias:
    people, judge = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
    return JudgeBias(group, len(pairs), judge, people)


# --- Labels ---


def read_labels(path: Path) -> list[PersonLabel]:
    """The labels in a CSV file with a header, or in JSON lines.

    The columns are `example`, `rollout`, `person`, `label` (1, true, pass or yes; 0, false, fail or
    no) and, optionally, `position`. Raises UsageError with the line, NotFound, StorageFailed.
    """
    if not path.is_file():
        raise NotFound(f"There is no file {path}", hint=f"its columns are {', '.join(_COLUMNS)}")
    with storage_errors(path):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    rows = _json_rows(text, path) if path.suffix == ".jsonl" else _csv_rows(text)
    return [_label(row, f"Line {number} of {path}") for number, row in rows]


def _csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return enumerate(csv.DictReader(text.splitlines()), 2)


def _json_rows(text: str, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"Line {number} of {path} is not JSON: {error}") from error
        yield number, row if isinstance(row, dict) else {}


def _label(row: Mapping[str, Any], place: str) -> PersonLabel:
    told = {name: str(row.get(name, "")).strip() for name in _COLUMNS}
    passes = _WORDS.get(told["label"].lower())
    try:
        rollout = int(told["example"]), int(told["rollout"] or 0)
    except ValueError:
        rollout = None
    if rollout is None or passes is None or not told["person"]:
        raise UsageError(
            f"{place} is not a label",
            hint=f"give the columns {', '.join(_COLUMNS)}, such as `3,0,ada,pass`",
        )
    position = str(row.get("position") or "").strip() or None
    return PersonLabel(rollout, told["person"], passes, position)


# --- The record ---


_FOLDER = "judges"


def save_calibration(cwd: Path, found: Calibration) -> Path:
    """Write the record into the project, over an earlier one; raises StorageFailed."""
    name = f"{found.environment}--{found.metric}".replace("/", "--").replace("\\", "--")
    path = cwd / _FOLDER / f"{name}.json"
    content = msgspec.json.format(msgspec.json.encode(found), indent=2)
    write_atomically(path, content + b"\n", mode=0o644)
    return path


def judge_calibration(run: SavedRun, cwd: Path, least: float) -> tuple[bool, str]:
    """Whether the judges of a run are calibrated to a kappa of `least`, and a sentence on it.

    The lower end of kappa's interval counts, so that few labels do not pass for many. Raises
    UsageError for a record that cannot be read.
    """
    if run.manifest is None:
        return False, "the run is of another tool, whose judge is not known"
    plan = run.manifest.plan
    found = [each for each in _records(cwd) if each.environment == plan.environment.name]
    if not found:
        return False, "its judge is not calibrated: run `prime judge calibrate`"
    judge = identify_judge(plan, run.rows())
    for each in found:
        if changes := each.judge.changes(judge):
            told = " and ".join(changes)
            return False, f"its judge was calibrated before its {told} changed: calibrate it again"
    lowest = min(found, key=lambda each: each.kappa.low)
    low, kappa = lowest.kappa.low, lowest.kappa.value
    than = "not below" if low >= least else "below"
    return low >= least, (
        f"kappa of the judge of `{lowest.metric}` is {format_number(kappa)}, at least "
        f"{format_number(low)} with 95 % confidence, {than} {format_exact(least)}"
    )


def _records(cwd: Path) -> Iterator[Calibration]:
    for path in sorted((cwd / _FOLDER).glob("*.json")):
        with storage_errors(path):
            content = path.read_bytes()
        try:
            yield msgspec.json.decode(content, type=Calibration)
        except msgspec.MsgspecError as error:
            raise UsageError(f"{path} is not the record of a calibration: {error}") from error
