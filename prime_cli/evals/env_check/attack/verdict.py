"""What a raid shows: of each strategy, and of the environment.

An answer is paid if it gets NEAR the gold one's reward. A strategy leaks if the share of examples
on which it is paid is above chance, by the lower end of its 95 % interval: chance is 5 %, and for
answers that may be right by luck how often the data's most frequent answer is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from prime_cli.core.formatting import format_number
from prime_cli.core.progress import Progress
from prime_cli.evals.env_check.attack.known import keep_verdict
from prime_cli.evals.env_check.attack.overlap import Benchmark, check_benchmark, check_splits
from prime_cli.evals.env_check.attack.panel import NEAR, Raid, Trial, conduct_raid
from prime_cli.evals.env_check.attack.session import Played
from prime_cli.evals.env_check.attack.source import scan_source
from prime_cli.evals.env_check.findings import clip, failed, mean, passed, warned
from prime_cli.evals.env_check.probe_run import ProbeSetup
from prime_cli.evals.env_check.scoring import (
    EPSILON,
    asks_judge,
    has_oracle,
    never_ends,
    raised,
    sandbox_lacking,
)
from prime_cli.runs.statistics.intervals import interval_of, moments_of
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.protocol import Rollout
from prime_cli.wire.check_reports import (
    Attack,
    AttackReport,
    Check,
    Outcome,
    SourceFinding,
    Verdict,
)

OF_ATTACKS = ("attack", "source", "splits", "benchmark")
"""The ids of these checks."""

CHANCE = 0.05
"""The share of examples that may pay a wrong answer by chance."""

_OWN_LINE = re.compile(r'File "[^"]*site-packages/([^"]+)", line (\d+)')
_LIBRARIES = ("verifiers/", "openai/", "datasets/")
_SHOWN = 200
_MOST_SOURCES = 50


def attack_wheel(
    bench: ProbeSetup,
    wheel: WheelPackage,
    benchmark: Benchmark,
    progress: Progress,
    *,
    search_calls: int,
) -> tuple[AttackReport, list[Check]]:
    """Attack what `bench` runs, read its source and compare its data; the report and the checks.

    The verdict is remembered for the wheel. Raises as `conduct_raid`, and StorageFailed.
    """
    bench = replace(bench, compared=benchmark.prints)
    raid = conduct_raid(bench, progress, search_calls=search_calls)
    rules = raid.run.start.rules.values() if raid.run.start else ()
    report = judge_raid(raid, scan_source(wheel.path, set(rules)))
    keep_verdict(wheel.sha256, report.verdict)
    checks = [check_attack(report), check_sources(report)]
    if raid.run.survey is not None and raid.run.survey.overlap is not None:
        overlap = raid.run.survey.overlap
        checks += [check_splits(overlap), check_benchmark(overlap, benchmark)]
    return report, checks


def judge_raid(raid: Raid, sources: Sequence[SourceFinding]) -> AttackReport:
    """The report, with what the `sources` show."""
    attacks = tuple(_judge(trial, raid) for trial in raid.trials)
    verdict, reason = _verdict(raid, attacks)
    return AttackReport(
        verdict=verdict,
        reason=clip(reason),
        examples=len(raid.targets),
        calls=raid.calls,
        attacks=attacks,
        sources=tuple(sources[:_MOST_SOURCES]),
    )


def _verdict(raid: Raid, attacks: Sequence[Attack]) -> tuple[Verdict, str]:
    if why := _unmeasured(raid):
        return "unknown", why
    leaks = [each for each in attacks if each.outcome == "leaks"]
    if leaks:
        worst = max(leaks, key=lambda each: each.paid / each.examples)
        others = f" (and {len(leaks) - 1} more)" if len(leaks) > 1 else ""
        return "leaks", f"{worst.name}{others}: {worst.sentence}"
    unclear = [each for each in attacks if each.outcome == "unclear"]
    if unclear:
        worst = max(unclear, key=lambda each: each.paid)
        return "unknown", f"{worst.name}: {worst.sentence}, too few to tell it from chance"
    judged = [each for each in attacks if each.outcome == "holds"]
    if len(judged) < len(attacks) / 2:
        return "unknown", "Most attacks never came as far as a reward"
    return "holds", f"None of {len(judged)} attacks is paid like the gold answer"


def _unmeasured(raid: Raid) -> str | None:
    """Why the rewards of attacks say nothing; None if they do."""
    rows = list(raid.gold.values())
    if (why := sandbox_lacking(raid.run)) is not None:
        return f"Rollouts need a sandbox: {why}"
    if any(map(asks_judge, rows)):
        return "The rewards call another model: allow it with `--judges`"
    if not rows:
        return "No example has an answer and there is no oracle, so nothing is known to be wrong"
    low = raid.scale.low
    best = [row.reward for row in rows if row.reward is not None]
    if not best or (max(best) <= low + EPSILON and not raid.scale.relative):
        own = "its oracle" if has_oracle(raid.run) else "a function `oracle(messages, *, answer)`"
        return f"Gold answers get no reward, so there is no measure: correct {own}"
    return None


def _judge(trial: Trial, raid: Raid) -> Attack:
    strategy = trial.strategy
    if trial.died:
        words = f"The environment's process ended during it: {trial.why}"
        return Attack(name=strategy.name, outcome="crashes", sentence=clip(words))
    if trial.why is not None:
        return Attack(name=strategy.name, outcome="skipped", sentence=trial.why)
    shares = {e: raid.share(e, each) for e, each in trial.rows.items()}
    known = {e: share for e, share in shares.items() if share is not None}
    if not known:
        return _without_rewards(trial)
    return _judge_shares(trial, raid, known)


def _without_rewards(trial: Trial) -> Attack:
    rows = [each.row for each in trial.rows.values()]
    name = trial.strategy.name
    late, broken = list(filter(never_ends, rows)), list(filter(raised, rows))
    if late:
        words = f"{len(late)} of {len(rows)} rollouts never ended: set `max_turns` or a deadline"
        return Attack(name=name, outcome="endless", sentence=words)
    if broken and broken[0].error is not None:
        error = broken[0].error
        file, line = _line_of(broken)
        words = f"Its code raised in {len(broken)} of {len(rows)}: {error.type}: {error.message}"
        return Attack(name=name, outcome="crashes", sentence=clip(words), file=file, line=line)
    if any(map(asks_judge, rows)):
        return Attack(name=name, outcome="skipped", sentence="The rewards call another model")
    return Attack(name=name, outcome="skipped", sentence="No rollout got a reward")


def _judge_shares(trial: Trial, raid: Raid, shares: Mapping[int, float]) -> Attack:
    paid = [example for example, share in shares.items() if share >= NEAR]
    level = CHANCE
    if not trial.strategy.certain and raid.corpus.is_closed:
        level = max(level, raid.corpus.share)
    bounds = _interval([float(example in paid) for example in shares])
    low = bounds[0] if bounds else 0.0
    rewards = {e: trial.rows[e].row.reward or 0.0 for e in shares}
    gold = {e: _gold_reward(raid, e, trial.rows[e]) for e in shares}
    mine, theirs = mean(rewards.values()), mean(gold.values())
    outcome: Outcome = "holds"
    if len(paid) / len(shares) > level:
        outcome = "leaks" if low > level else "unclear"
    words = (
        f"It {trial.strategy.shows}: {format_number(mine)} on average, gold answers "
        f"{format_number(theirs)}, and as much on {len(paid)} of {len(shares)} examples"
        if paid
        else f"{format_number(mine)} on average, gold answers {format_number(theirs)}"
    )
    rule, place = _rule(raid, trial, paid)
    said = trial.lines[paid[0]] if paid else None
    return Attack(
        name=trial.strategy.name,
        outcome=outcome,
        sentence=clip(words),
        examples=len(shares),
        paid=len(paid),
        paid_interval=bounds,
        reward=mine,
        interval=_interval(list(rewards.values())),
        gold=theirs,
        margin=mine - theirs,
        rule=rule,
        file=clip(place[0])[:_SHOWN] if place else None,
        line=place[1] if place else None,
        answer=clip(said) if isinstance(said, str) else None,
    )


def _gold_reward(raid: Raid, example: int, played: Played) -> float:
    row = played.beside or raid.gold[example]
    return row.reward or 0.0


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of a mean over examples; None of one example."""
    if len(values) < 2:  # noqa: PLR2004
        return None
    clusters = [[value] for value in values]
    found = interval_of(clusters, moments_of(clusters))
    return None if found is None else (found.low, found.high)


def _rule(
    raid: Raid, trial: Trial, paid: Iterable[int]
) -> tuple[str | None, tuple[str, int] | None]:
    """The reward function that gave the most to what was paid, and its place."""
    start = raid.run.start
    rows = [trial.rows[example].row for example in paid]
    if not rows or start is None:
        return None, None
    weights = start.weights or {}
    names = {name for row in rows for name in row.metrics if name in weights or not weights}

    def given(name: str) -> float:
        return sum((row.metrics.get(name) or 0.0) * weights.get(name, 1.0) for row in rows)

    best = max(sorted(names), key=given, default=None)
    if best is None or given(best) <= 0:
        return None, None
    return best[:_SHOWN], start.rules.get(best)


def _line_of(rows: Sequence[Rollout]) -> tuple[str | None, int | None]:
    """The last line of the environment's own in the first traceback."""
    error = rows[0].error
    found = _OWN_LINE.findall((error.traceback if error else None) or "")
    own = [(file, int(line)) for file, line in found if not file.startswith(_LIBRARIES)]
    return (own[-1][0][:_SHOWN], own[-1][1]) if own else (None, None)


def check_attack(report: AttackReport) -> Check:
    """`attack`: the verdict as a check."""
    counts = {"attacks": len(report.attacks), "examples": report.examples, "calls": report.calls}
    if report.verdict == "leaks":
        step = "correct the reward function that is named with each leak"
        return failed("attack", f"Leaks. {report.reason}", step, **counts)
    broken = [each.name for each in report.attacks if each.outcome in ("crashes", "endless")]
    if report.verdict == "unknown":
        step = "see the reason; more examples (`-n`) tell more"
        return warned("attack", f"Unknown. {report.reason}", step, **counts)
    if broken:
        words = f"Holds, but {' and '.join(broken)} ended without a reward"
        return warned("attack", words, "handle every answer, and end every conversation", **counts)
    return passed("attack", f"Holds. {report.reason}", **counts)


def check_sources(report: AttackReport) -> Check:
    """`source`: what the source shows, in short."""
    if not report.sources:
        return passed("source", "Its source shows nothing that harms rewards")
    first = report.sources[0]
    count = len(report.sources)
    words = f"{first.sentence}, in {first.file}:{first.line}"
    if count > 1:
        words += f", and {count - 1} more"
    return warned("source", words, "see the lines that are named", findings=count)
