"""`prime judge calibrate`: a judge's scores beside people's labels, and the record of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.core.formatting import (
    format_exact,
    format_interval,
    format_number,
    format_share,
    join_words,
    pluralize,
)
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.evals.gate.labels import PersonLabel
from prime_cli.models.gateway.calls import POLICY
from prime_cli.models.prices import Charges
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.statistics.agreement import (
    Confusion,
    RateEstimate,
    cohens_kappa,
    confuse,
    corrected_rate,
)
from prime_cli.runs.tally import RolloutKey

REWARD = "reward"
FEWEST = 30
"""Labelled rollouts: with fewer, the interval of kappa is wider than 0.6 and tells nothing."""


NEVER_LABELLED = "Its judge was never compared with people"


class JudgeIdentity(msgspec.Struct, frozen=True):
    """What decides how a judge scores: its code (the wheel), arguments, models, prompts, sampling.

    `arguments` is a digest of those of the environment. `models` are those of all roles but the
    policy, as `role model`. `prompts` and `sampling` are digests of what the environment's judges
    declare; they are empty, and `verifiers` is None, where an older prime did not record them.
    """

    wheel_sha256: str
    arguments: str
    models: tuple[str, ...]
    prompts: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()
    verifiers: str | None = None

    def changes(self, other: "JudgeIdentity") -> list[str]:
        """What is different in `other`, in words; what was not recorded is not."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in _WORDS}
        return [
            _WORDS[name]
            for name, (one, two) in pairs.items()
            if one != two and (name not in _NOT_ALWAYS or (one and two))
        ]


_WORDS = {
    "wheel_sha256": "wheel",
    "arguments": "arguments",
    "models": "models",
    "prompts": "prompts",
    "sampling": "sampling",
    "verifiers": "release of verifiers",
}
_NOT_ALWAYS = ("prompts", "sampling", "verifiers")


class JudgeBias(msgspec.Struct, frozen=True):
    """Labelled rollouts of one kind (`shorter`, `position 2`): who passes which share of them."""

    group: str
    count: int
    judge_rate: float
    people_rate: float


class PeopleAgreement(msgspec.Struct, frozen=True):
    """How far two people agree on the rollouts that both have labelled.

    `kappa` is None where both have said the same of all of them.
    """

    people: tuple[str, str]
    both: int
    agreed: int
    kappa: float | None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How far a judge agrees with people on a run; rates are shares from 0 to 1.

    A score of at least `threshold` passes. `contradicted` rollouts (`contradictions` names them)
    have labels of both kinds, which the majority decides; `undecided` are those without one, which
    are left out. `between` is how far people agree with each other. `pass_rate` is the judge's of
    the whole run, `corrected` what people would say, None for a judge no better than chance.
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
    contradictions: tuple[RolloutKey, ...] = ()
    between: tuple[PeopleAgreement, ...] = ()


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
    contradictions = sorted(key for key, each in votes.items() if len(set(each.values())) > 1)
    return Calibration(
        environment=run.manifest.plan.environment.name,
        metric=metric,
        threshold=threshold,
        judge=identify_judge(run.manifest, run.charges()),
        run_id=run.folder.run_id,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        people=tuple(sorted({each.person for each in labels})),
        labelled=len(pairs),
        contradicted=len(contradictions),
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
        contradictions=tuple(contradictions),
        between=tuple(_between(votes.values())),
    )


def identify_judge(manifest: RunManifest, charges: Charges) -> JudgeIdentity:
    """What judged a run, by its manifest and by who was asked in it."""
    plan, declared = manifest.plan, manifest.judges
    arguments = msgspec.json.encode([plan.env_args, plan.extra_args], order="sorted")
    models = {f"{payer.role} {payer.model}" for payer in charges if payer.role != POLICY}
    # A judge with a client of its own is not among those whose calls were counted.
    models |= {f"judge {each.model}" for each in declared if each.model}
    return JudgeIdentity(
        plan.environment.sha256,
        digest_bytes(arguments),
        tuple(sorted(models)),
        tuple(sorted({each.prompt for each in declared})),
        tuple(sorted({each.sampling for each in declared})),
        manifest.interpreter.verifiers if manifest.interpreter is not None else None,
    )


def _score(row: Row, metric: str) -> float | None:
    if row.error is not None:
        return None
    return row.reward if metric == REWARD else row.metrics.get(metric)


Votes = Mapping[RolloutKey, Mapping[str, bool]]


def _votes(labels: Sequence[PersonLabel], scores: Mapping[RolloutKey, float], metric: str) -> Votes:
    found: dict[RolloutKey, dict[str, bool]] = defaultdict(dict)
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


def _between(votes: Iterable[Mapping[str, bool]]) -> Iterator[PeopleAgreement]:
    said: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for each in votes:
        for one, two in combinations(sorted(each), 2):
            said[one, two].append((each[one], each[two]))
    for people, pairs in sorted(said.items()):
        table = confuse(pairs)
        is_one_kind = len({told for pair in pairs for told in pair}) == 1
        kappa = None if is_one_kind else cohens_kappa(table).value
        yield PeopleAgreement(people, table.count, table.passes + table.failures, kappa)


def _require_enough(pairs: Mapping[RolloutKey, tuple[bool, bool]]) -> None:
    if len(pairs) < FEWEST:
        raise UsageError(
            f"Only {pluralize(len(pairs), 'labelled rollout')}: to calibrate a judge, {FEWEST} are "
            "needed, or the interval of kappa would tell nothing",
            hint="label more with `prime judge label RUN`",
        )
    if len({told for told, _ in pairs.values()}) == 1:
        raise UsageError(
            "All labels are the same, so nothing can be said of the judge's other answers",
            hint="label rollouts of both kinds, some that pass and some that fail",
        )


def _biases(
    pairs: Mapping[RolloutKey, tuple[bool, bool]],
    rows: Mapping[RolloutKey, Row],
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
    found = _records(cwd, run.manifest)
    if not found:
        return False, "its judge is not calibrated: run `prime judge calibrate`"
    judge = identify_judge(run.manifest, run.charges())
    for each in found:
        if changes := each.judge.changes(judge):
            told = join_words(changes)
            return False, f"its judge was calibrated before its {told} changed: calibrate it again"
    lowest = min(found, key=lambda each: each.kappa.low)
    low, kappa = lowest.kappa.low, lowest.kappa.value
    than = "not below" if low >= least else "below"
    return low >= least, (
        f"kappa of the judge of `{lowest.metric}` is {format_number(kappa)}, at least "
        f"{format_number(low)} with 95 % confidence, {than} {format_exact(least)}"
    )


def known_trust(run: SavedRun, cwd: Path) -> tuple[str, ...]:
    """What the records in `cwd` say of the judges of a run, as `judge_trust` does; for others."""
    if run.manifest is None or not (cwd / _FOLDER).is_dir():
        return ()
    told = judge_trust(run.manifest, run.charges(), run.index.rewards(), cwd)
    return tuple(each for each in told if each != NEVER_LABELLED)


def judge_trust(
    manifest: RunManifest, charges: Charges, rewards: Sequence[float], cwd: Path
) -> list[str]:
    """How far the judges of a run can be trusted: a sentence for each; none without a judge.

    A record that cannot be read is such a sentence too.
    """
    try:
        found = _records(cwd, manifest)
    except PrimeError as error:
        return [error.message]
    if not found:
        is_judged = manifest.judges or any("judge" in payer.role for payer in charges)
        return [NEVER_LABELLED] if is_judged else []
    judge = identify_judge(manifest, charges)
    return [_trust(each, each.judge.changes(judge), rewards) for each in found]


def _trust(found: Calibration, changes: Sequence[str], rewards: Sequence[float]) -> str:
    name = f"The judge of `{found.metric}`"
    if changes:
        return f"{name} was compared with people before its {join_words(changes)} changed"
    kappa = found.kappa
    told = (
        f"{name} agrees with people to a kappa of {format_number(kappa.value)} "
        f"({format_interval((kappa.low, kappa.high))}), by {found.labelled:,} labelled rollouts"
    )
    passed = sum(reward >= found.threshold for reward in rewards)
    corrected = corrected_rate(found.confusion, len(rewards), passed) if rewards else None
    if found.metric != REWARD or corrected is None:
        return told
    low, high = format_share(corrected.low), format_share(corrected.high)
    share = format_share(corrected.value)
    return f"{told}; of the rollouts here people would pass {share} ({low} to {high})"


def _records(cwd: Path, manifest: RunManifest) -> list[Calibration]:
    """Those of the environment of a run."""
    found = []
    for path in sorted((cwd / _FOLDER).glob("*.json")):
        with storage_errors(path):
            content = path.read_bytes()
        try:
            found.append(msgspec.json.decode(content, type=Calibration))
        except msgspec.MsgspecError as error:
            name = path.relative_to(cwd).as_posix()
            raise UsageError(f"{name} is not the record of a calibration: {error}") from error
    name = manifest.plan.environment.name
    return [each for each in found if each.environment == name]
