"""What an evaluation takes from this invocation: its folder, its variables and its hub."""

import os
from pathlib import Path

from prime_cli.commands.trusting import gate_of
from prime_cli.evals.locate import Places
from prime_cli.evals.setup import Surroundings
from prime_cli.models.budget import Budget
from prime_cli.session import Session


def places_of(session: Session, *, yes: bool = False) -> Places:
    """Where environments are looked for; the hub is opened when it is asked.

    `yes` answers the question about somebody whose code has not run here.
    """
    return Places(
        cwd=Path.cwd(),
        hub=lambda: session.hub,
        offline=session.config.offline,
        owner=session.config.owner.value,
        gate=gate_of(session, yes=yes),
    )


def surroundings_of(session: Session, *, budget: Budget | None = None) -> Surroundings:
    """Where runs happen; `budget` is one that several of them share."""
    offline = session.config.offline
    return Surroundings(Path.cwd(), os.environ, session.progress, offline, budget)
