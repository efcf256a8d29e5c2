"""The panel of attacks on one environment: gold answers first, each strategy, then the search."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from prime_cli.core.errors import PrimeError
from prime_cli.core.progress import Progress
from prime_cli.evals.env_check.attack.search import Candidate, Hunt
from prime_cli.evals.env_check.attack.session import AttackSession, Played, Said
from prime_cli.evals.env_check.attack.strategies import STRATEGIES, Corpus, Line, Strategy, Target
from prime_cli.evals.env_check.probe_run import ProbeRun, ProbeSetup
from prime_cli.evals.env_check.scoring import EPSILON, Scale, has_oracle, scale_of
from prime_cli.models.gateway.builtin import content_text
from prime_cli.models.gateway.oracle import FORMS, GOLDEN, OracleProbe
from prime_cli.runtime.protocol import Rollout, Start

NEAR = 0.8
"""An answer with this share of the gold answer's reward, from the lowest possible, is paid."""

_MOST_SESSIONS = 4
_SOUGHT = 5
"""Examples on which the search looks; what it finds is judged on the others."""


@dataclass(frozen=True)
class Trial:
    """A strategy on each example where it has a wrong answer; `why` it was not played, or ended."""

    strategy: Strategy
    rows: Mapping[int, Played] = field(default_factory=dict)
    lines: Mapping[int, Line] = field(default_factory=dict)
    why: str | None = None
    died: bool = False


@dataclass
class Raid:
    """What is known of an environment under attack; `gold` are the gold rollouts by example."""

    run: ProbeRun = field(default_factory=ProbeRun)
    form: OracleProbe = OracleProbe.GOLD
    gold: dict[int, Rollout] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    corpus: Corpus = field(default_factory=lambda: Corpus((), 0.0, str))
    trials: list[Trial] = field(default_factory=list)
    calls: int = 0

    @property
    def scale(self) -> Scale:
        """The possible rewards."""
        return scale_of(self.run)

    def share(self, example: int, played: Played) -> float | None:
        """What was paid as a share of the gold answer's; None where one has no reward.

        Within a group an answer is paid if the gold one beside it has no more.
        """
        best = played.beside or self.gold.get(example)
        if played.row.reward is None or best is None or best.reward is None:
            return None
        if played.beside is not None:
            return float(played.row.reward >= best.reward - EPSILON)
        span = best.reward - self.scale.low
        return (played.row.reward - self.scale.low) / span if span > EPSILON else None


def conduct_raid(bench: ProbeSetup, progress: Progress, *, search_calls: int) -> Raid:
    """Attack the environment of `bench` on its first examples, and search in `search_calls`.

    A strategy in which the environment's process ends is a finding, and the next ones get a new
    process. Raises LoadFailed and EnvironmentFailed for one that fails before the first attack.
    """
    raid = Raid()
    with progress.task(f"Attacking {bench.plan.environment.name}", unit="rollouts") as task:
        for _ in range(_MOST_SESSIONS):
            driver = _Driver(raid, bench.first, search_calls, has_walls=bench.walls is not None)
            session = AttackSession(bench, progress, task, driver.drive)
            try:
                asyncio.run(session.run({"follow": True}))
            except PrimeError as error:
                if driver.playing is None:
                    raise
                raid.trials.append(Trial(driver.playing, why=error.message, died=True))
                continue
            finally:
                raid.calls += session.calls
            break
    return raid


SEARCH = Strategy(
    "search", "pays for the best that was found by changing the others", lambda *_: None
)


class _Driver:
    def __init__(self, raid: Raid, examples: int, calls: int, *, has_walls: bool) -> None:
        self._raid = raid
        self._examples = examples
        self._calls = calls
        self._has_walls = has_walls
        self.playing: Strategy | None = None
        self._session: AttackSession

    async def drive(self, session: AttackSession) -> None:
        self._session, raid = session, self._raid
        start = await session.loaded()
        raid.run = session.found
        if not raid.targets:
            await self._play_gold(start)
        if len(raid.targets) < 1:
            return
        done = {trial.strategy.name for trial in raid.trials}
        for strategy in STRATEGIES:
            if strategy.name not in done:
                self.playing = strategy
                raid.trials.append(await self._try(strategy))
        if SEARCH.name not in done:
            self.playing = SEARCH
            raid.trials.append(await self._search())

    async def _play_gold(self, start: Start) -> None:
        raid, session = self._raid, self._session
        numbers = (start.numbers or list(range(start.examples)))[: self._examples]
        own = has_oracle(raid.run)
        golden = [each for each in numbers if own or str(each) in start.answers]
        forms = (OracleProbe.GOLD,) if own else GOLDEN
        played = {form: await session.play(dict.fromkeys(golden, form), form) for form in forms}

        def total(form: OracleProbe) -> float:
            rewards = [each.row.reward for each in played[form].values()]
            return math.fsum(each for each in rewards if each is not None)

        raid.form = max(forms, key=total)
        raid.gold = {example: each.row for example, each in played[raid.form].items()}
        told = start.answers
        raid.targets = [
            _target(session, example, told.get(str(example)), row)
            for example, row in raid.gold.items()
            if row.reward is not None and example in session.heard
        ]
        answers = {str(each.example): each.known for each in raid.targets} | {
            key: value for key, value in told.items() if not own
        }
        raid.corpus = Corpus.of(answers, _form_of(raid))

    async def _try(self, strategy: Strategy) -> Trial:
        raid = self._raid
        if strategy.runs_code and not self._has_walls:
            if any(strategy.make(each, raid.corpus, raid.targets) for each in raid.targets):
                return Trial(strategy, why="It runs code of the model: allow it with `--sandbox`")
            return Trial(strategy, why="The model has no tool that runs code")
        made = [(each, strategy.make(each, raid.corpus, raid.targets)) for each in raid.targets]
        lines = {each.example: line for each, line in made if line is not None}
        if not lines:
            return Trial(strategy, why="There is no such answer that is wrong here")
        return Trial(strategy, await self._play(lines), lines)

    async def _play(self, lines: Mapping[int, Said]) -> dict[int, Played]:
        return await self._session.play(lines, self._raid.form)

    async def _search(self) -> Trial:
        """Changes of the best answers, tried on some examples and judged on the others."""
        raid = self._raid
        few = raid.targets[:_SOUGHT]
        others = raid.targets[_SOUGHT:]
        if self._calls < 1 or not others:
            why = "It has no calls" if others else "There are too few examples to judge it on"
            return Trial(SEARCH, why=why)
        hunt = Hunt([(t.strategy.name, t.lines, _mean_share(raid, t.rows)) for t in raid.trials])
        last = self._session.calls + self._calls
        while self._session.calls < last and (candidate := hunt.propose()) is not None:
            rows = await self._play(_lines_of(candidate, few, raid))
            hunt.learn(candidate, _mean_share(raid, rows))
        best = hunt.best
        if best is None:
            return Trial(SEARCH, why="No strategy says a text that could be changed")
        if not best.changes:
            return Trial(SEARCH, why=f"It found no change that is paid more than {best}")
        lines = _lines_of(best, others, raid)
        shows = f"{SEARCH.shows}: {best}"
        return Trial(Strategy(SEARCH.name, shows, SEARCH.make), await self._play(lines), lines)


def _lines_of(candidate: Candidate, targets: Sequence[Target], raid: Raid) -> dict[int, str]:
    made = ((each.example, candidate.say(each, raid.corpus, raid.targets)) for each in targets)
    return {example: text for example, text in made if text is not None}


def _mean_share(raid: Raid, rows: Mapping[int, Played]) -> float:
    shares = [raid.share(example, each) or 0.0 for example, each in rows.items()]
    return math.fsum(shares) / len(shares) if shares else 0.0


def _target(session: AttackSession, example: int, gold: object, row: Rollout) -> Target:
    question = session.heard[example]
    asked = [each for each in question.messages if each.get("role") == "user"]
    return Target(
        example=example,
        question=question,
        asked=content_text(asked[-1].get("content")) if asked else "",
        gold=str(gold) if isinstance(gold, str | int | float) else None,
        turns=_said(row) or ("",),
    )


def _said(row: Rollout) -> tuple[str, ...]:
    if isinstance(row.completion, str):
        return (row.completion,)
    return tuple(
        content_text(each.get("content"))
        for each in row.completion or []
        if each.get("role") == "assistant"
    )


def _form_of(raid: Raid) -> Callable[[str], str]:
    """Where gold answers stand in what was said: a form of ours, or the oracle's own."""
    if not has_oracle(raid.run):
        return FORMS[raid.form]
    example = next(
        (each for each in raid.targets if each.gold and each.gold in each.turns[-1]), None
    )
    if example is None or example.gold is None:
        return str
    before, _, after = example.turns[-1].rpartition(example.gold)
    return lambda text: f"{before}{text}{after}"
