"""Where agents of a v1 environment run is said before a model is called."""

from prime_cli.core.progress import Silent
from prime_cli.evals.execution.agents import announce_agents
from prime_cli.runtime.protocol import Seat

NULL = Seat(name="agent", harness="null", runtime="subprocess", in_process=True)
BASH = Seat(
    name="agent", harness="bash", runtime="subprocess", instead_of="prime", runs_commands=True
)
MOVED = "Agent `agent` runs on this machine"
EXPOSED = "The model may run commands on this machine, as you"
CONTAINED = Seat(name="agent", harness="bash", runtime="docker", runs_commands=True)


def said_of(*seats: Seat, sandbox: bool = False) -> tuple[list[str], list[str]]:
    progress = Silent()
    announce_agents(seats, progress, sandbox=sandbox)
    return progress.said, progress.warned


def test_commands_on_this_machine_are_a_warning() -> None:
    said, warned = said_of(BASH)
    assert said == [f"{MOVED}, not in the runtime `prime`, which verifiers takes by default"]
    assert warned == [f"{EXPOSED}: `agent` is played by the harness `bash`"]


def test_within_the_sandbox_they_are_none() -> None:
    said, warned = said_of(BASH, sandbox=True)
    assert said[0].startswith("Agent `agent` runs in the sandbox")
    assert not warned


def test_what_runs_where_it_was_asked_to_is_not_mentioned() -> None:
    assert said_of(NULL) == ([], [])
    assert said_of(CONTAINED) == ([], [])
