"""One process of an environment under attack, which is asked for one rollout after another."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.env_check.attack.strategies import Line
from prime_cli.evals.env_check.probe_run import ProbeRun, ProbeSession, ProbeSetup
from prime_cli.models.gateway.calls import CallFailed, CallIdentity
from prime_cli.models.gateway.oracle import (
    FORMS,
    Message,
    OracleFailed,
    OracleProbe,
    OracleQuestion,
    require_end,
)
from prime_cli.runtime.protocol import Event, Finish, Rollout, RunRollouts, Start

Said = Line | OracleProbe
"""A strategy's line, or the gold answer in one of its forms."""


@dataclass(frozen=True)
class Played:
    """A rollout, and that of the gold answer which was scored with it, where groups are scored."""

    row: Rollout
    beside: Rollout | None = None


class AttackSession(ProbeSession):
    """Plays what it is told to by `drive`, and ends when that returns.

    `calls` counts the answers given, `heard` has the first question of each example.
    """

    def __init__(
        self,
        bench: ProbeSetup,
        progress: Progress,
        task: Task,
        drive: Callable[["AttackSession"], Awaitable[None]],
    ) -> None:
        super().__init__(bench, progress, task, script=self._speak)
        self._drive = drive
        self._lines: dict[tuple[int, int], Said] = {}
        self._turns: Counter[tuple[int, int]] = Counter()
        self._waiting: dict[tuple[int, int], asyncio.Future[Rollout]] = {}
        self._numbers: Counter[int] = Counter()
        self._loaded = asyncio.Event()
        self.calls = 0
        self.heard: dict[int, OracleQuestion] = {}

    @property
    def found(self) -> ProbeRun:
        """What the environment said of itself."""
        return self._found

    async def loaded(self) -> Start:
        """What the environment says once it is loaded."""
        await self._loaded.wait()
        assert self._found.start is not None  # noqa: S101 - set before the event
        return self._found.start

    async def play(self, lines: Mapping[int, Said], gold: OracleProbe) -> dict[int, Played]:
        """One rollout for each example; where groups are scored, beside the `gold` answer."""
        start = await self.loaded()
        order = list(lines)
        found = await asyncio.gather(
            *(self._play(e, lines[e], gold if start.unit == "group" else None) for e in order)
        )
        return dict(zip(order, found, strict=True))

    async def _play(self, example: int, line: Said, beside: OracleProbe | None) -> Played:
        said = [line] if beside is None else [line, beside]
        first = self._numbers[example]
        self._numbers[example] += len(said)
        keys = [(example, first + place) for place in range(len(said))]
        self._lines.update(zip(keys, said, strict=True))
        loop = asyncio.get_running_loop()
        waiting = {key: loop.create_future() for key in keys}
        self._waiting.update(waiting)
        await self._worker.tell(RunRollouts(example, [number for _, number in keys]))
        return Played(*[await waiting[key] for key in keys])

    async def _listen(self) -> None:
        reading = asyncio.ensure_future(super()._listen())
        driving = asyncio.ensure_future(self._drive(self))
        try:
            await asyncio.wait((reading, driving), return_when=asyncio.FIRST_COMPLETED)
            if not driving.done():
                await reading
                raise EnvironmentFailed("The environment's process ended during an attack")
            driving.result()
            await self._worker.tell(Finish())
            await reading
        finally:
            for each in (reading, driving):
                each.cancel()

    def _hear(self, event: Event) -> None:
        super()._hear(event)
        if isinstance(event, Start):
            self._loaded.set()

    def _hear_rollout(self, row: Rollout) -> None:
        waiting = self._waiting.pop((row.example_id, row.rollout), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(row)

    async def _speak(self, identity: CallIdentity, question: OracleQuestion) -> Message:
        key = (question.example, identity.rollout or 0)
        line = self._lines.get(key)
        if line is None:
            words = "`builtin/probes` only answers rollouts of a check"
            raise CallFailed(words, status=400, blame="environment", code="builtin_model")
        self.calls += 1
        self._turns[key] += 1
        require_end(self._turns[key])
        if isinstance(line, OracleProbe):
            return await self._say_gold(line, question)
        return line if isinstance(line, str) else line(self._turns[key], question)

    async def _say_gold(self, form: OracleProbe, question: OracleQuestion) -> Message:
        self.heard.setdefault(question.example, question)
        try:
            said = await self._gold.answer(question)
        except OracleFailed as error:
            raise CallFailed(
                str(error), status=422, blame="environment", code="builtin_model"
            ) from error
        return FORMS[form](said) if isinstance(said, str) else said
