"""What plays the agents of a v1 environment: what is said of it before a model is called."""

from collections.abc import Sequence

from prime_cli.core.progress import Progress
from prime_cli.runtime.protocol import Seat


def announce_agents(seats: Sequence[Seat], progress: Progress, *, sandbox: bool) -> None:
    """Say where agents run that would run elsewhere by default, and whose model runs commands."""
    moved = [seat for seat in seats if seat.instead_of]
    if moved:
        progress.say(
            f"{_names(moved)} {'runs' if len(moved) == 1 else 'run'} "
            f"{'in the sandbox' if sandbox else 'on this machine'}, not in the runtime "
            f"`{moved[0].instead_of}`, which verifiers takes by default"
        )
    exposed = [seat for seat in seats if seat.runs_commands and seat.runtime == "subprocess"]
    if exposed and not sandbox:
        progress.warn(
            f"The model may run commands on this machine, as you: {_harnesses(exposed)}",
            hint="wall it in with `--sandbox`, or choose a runtime: "
            f'`-x \'{{"{exposed[0].name}": {{"runtime": {{"type": "docker"}}}}}}\'`',
        )


def _names(seats: Sequence[Seat]) -> str:
    names = ", ".join(f"`{seat.name}`" for seat in seats)
    return f"{'Agent' if len(seats) == 1 else 'Agents'} {names}"


def _harnesses(seats: Sequence[Seat]) -> str:
    return ", ".join(f"`{seat.name}` is played by the harness `{seat.harness}`" for seat in seats)
