"""The progress line of a run says how it goes and what it waits for."""

import asyncio
import re
import time

import pytest

from prime_cli.core.progress import Silent
from prime_cli.evals.execution.progress_line import (
    Pace,
    WaitingTask,
    announce_agents,
    calling_every_second,
    progress_note,
    waiting_words,
)
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import WaitStatus
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.prices import Price, Spend, TokenUsage
from prime_cli.runs.tally import Tally
from prime_cli.runtime.protocol import AgentInfo
from prime_cli.terminal.progress import LineTask
from tests.helpers.gateway_client import ask, run
from tests.helpers.scripted_model import ScriptedModel, status
from tests.runs.rows import row

ONE = Spend.of(TokenUsage(calls=1, input=10**5, output=10**4), Price(input=1.0, output=10.0))
UNKNOWN = Spend.of(TokenUsage(calls=1, input=10), None)


def test_the_note_shows_a_cost_that_is_known() -> None:
    tally = Tally()
    tally.add(row(0))
    assert progress_note(tally) == "reward 1"
    assert progress_note(tally, ONE) == "reward 1, $0.20"
    assert progress_note(tally, ONE + UNKNOWN) == "reward 1, at least $0.20"
    assert progress_note(tally, UNKNOWN) == "reward 1"


def test_the_note_shows_the_time_left_and_the_speed() -> None:
    now = [100.0]
    pace = Pace(8, 2, ONE, lambda: now[0])
    assert pace.seconds_left(0) is None
    now[0] = 110.0
    assert pace.seconds_left(1) is None  # two at once: one alone does not tell it
    assert pace.seconds_left(2) == 30
    assert pace.seconds_left(8) is None
    assert pace.speed(ONE) is None
    assert pace.speed(ONE + Spend(TokenUsage(calls=1, output=450))) == 45
    assert pace.speed(ONE + Spend(TokenUsage(calls=1, output=450, estimated=1))) is None
    tally = Tally()
    tally.add(row(0))
    note = progress_note(tally, ONE, left=3725, speed=1812.4)
    assert note == "reward 1, 1h 2m left, $0.20, 1,812 tokens/s"


NULL = AgentInfo(name="agent", harness="null", runtime="subprocess", in_process=True)


BASH = AgentInfo(
    name="agent", harness="bash", runtime="subprocess", instead_of="prime", runs_commands=True
)


MOVED = "Agent `agent` runs on this machine"


EXPOSED = "The model may run commands on this machine as you"


CONTAINED = AgentInfo(name="agent", harness="bash", runtime="docker", runs_commands=True)


def said_of(*agents: AgentInfo, sandbox: bool = False) -> tuple[list[str], list[str]]:
    progress = Silent()
    announce_agents(agents, progress, sandbox=sandbox)
    return progress.said, progress.warned


def test_commands_on_this_machine_are_a_warning() -> None:
    said, warned = said_of(BASH)
    assert said == [f"{MOVED}, not in the runtime `prime`, the default of verifiers"]
    assert warned == [f"{EXPOSED}: `agent` uses the harness `bash`"]


def test_the_sandbox_has_none() -> None:
    said, warned = said_of(BASH, sandbox=True)
    assert said[0].startswith("Agent `agent` runs in the sandbox")
    assert not warned


def test_what_runs_where_it_was_asked_to_is_not_mentioned() -> None:
    assert said_of(NULL) == ([], [])
    assert said_of(CONTAINED) == ([], [])


@pytest.mark.parametrize(
    ("waits", "words"),
    [
        (WaitStatus(), ""),
        (WaitStatus(64, 12, 3.0), "waiting on 429: 12 of 64"),
        (WaitStatus(64, 12, 3.0, 0.8), "waiting on 429: 12 of 64"),
        (WaitStatus(64, 12, 3.0, 19.2), "waiting on 429: 12 of 64, next try in 20s"),
        (WaitStatus(64, 0, 19.0), ""),
        (WaitStatus(64, 0, 45.2), "waiting for the endpoint: 45s"),
        (WaitStatus(64, 0, 125.0), "waiting for the endpoint: 2m 5s"),
    ],
)
def test_waits_are_reported_in_words(waits: WaitStatus, words: str) -> None:
    assert waiting_words(waits) == words


def test_a_slow_load_is_reported_at_once_where_there_is_no_terminal() -> None:
    said: list[str] = []
    task = LineTask(said.append, time.monotonic, "wordle with gpt", None, "rollouts")
    task.update(note="loading the environment")
    waiting = WaitingTask(task, lambda: WaitStatus(0, 0, 0.0), lambda: "12s so far: Fetching")
    waiting.tick()
    waiting.tick()
    assert said == ["wordle with gpt: loading the environment, 12s so far: Fetching"]


def test_steady_429_are_reported_at_once_where_there_is_no_terminal() -> None:
    said: list[str] = []

    async def scenario(model: ScriptedModel) -> None:
        task = LineTask(said.append, time.monotonic, "wordle with gpt", 64, "rollouts")
        async with Gateway(Endpoint("scripted", model.url), environ={}) as gateway:
            calls = [asyncio.ensure_future(ask(gateway)) for _ in range(3)]
            async with calling_every_second(WaitingTask(task, gateway.waits).tick):
                while not said:  # noqa: ASYNC110 - the clock is the gateway's own
                    await asyncio.sleep(0.05)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    with ScriptedModel(status(429, retry_after=300)) as model:
        run(scenario(model))
    assert re.fullmatch(
        r"wordle with gpt: 0/64 rollouts, waiting on 429: [1-3] of 3, next try in (5m|4m 5\ds)",
        said[0],
    )


def test_it_is_brought_up_to_date_while_nothing_ends() -> None:
    async def scenario() -> None:
        ticked = asyncio.Event()
        async with asyncio.timeout(30), calling_every_second(ticked.set):
            await ticked.wait()

    asyncio.run(scenario())
