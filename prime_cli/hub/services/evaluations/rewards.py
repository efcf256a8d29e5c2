"""The rewards of an evaluation, to draw how they are spread."""

from sqlalchemy import select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import samples
from prime_cli.hub.services.evaluations.access import find_evaluation


def list_rewards(hub: Hub, caller: Caller, evaluation_id: str, most: int) -> list[float]:
    """Those of the first `most` samples that have one; raises NotFound."""
    with hub.database.read() as connection:
        evaluation = find_evaluation(connection, caller, evaluation_id)
        rewards = select(samples.c.reward).where(
            samples.c.evaluation_id == evaluation.id,
            samples.c.reward.is_not(None),
            samples.c.number <= most,
        )
        return [float(reward) for reward in connection.execute(rewards).scalars()]
