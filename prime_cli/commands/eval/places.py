"""What an evaluation takes from this invocation: its folder, its variables and its hub."""

import os
from pathlib import Path

from prime_cli.evals.locate import Places
from prime_cli.evals.setup import Surroundings
from prime_cli.models.budget import Budget
from prime_cli.session import Session


def places_of(session: Session) -> Places:
    """Where environments are looked for; the hub is opened when it is asked."""
    return Places(
        cwd=Path.cwd(),
        hub=lambda: session.hub,
        offline=session.config.offline,
        owner=session.config.owner.value,
    )


def surroundings_of(session: Session, *, budget: Budget | None = None) -> Surroundings:
    """Where runs happen; `budget` is one that several of them share."""
    offline = session.config.offline
    return Surroundings(Path.cwd(), os.environ, session.progress, offline, budget)
