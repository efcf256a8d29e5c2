"""What becomes of rollouts whose worker is lost."""

from prime_cli.evals.ray.units import NodeWorker, Units
from prime_cli.runs.rows import WORKER_DIED
from prime_cli.runs.tally import RolloutKey
from prime_cli.runtime.protocol import Rollout


def worker_with(*examples: int) -> NodeWorker:
    return NodeWorker(
        concurrency=2, units={(example, 0): ([(example, 0)], 0.0) for example in examples}
    )


def test_what_only_waited_there_is_not_blamed() -> None:
    again: dict[RolloutKey, str] = {}
    units = Units({}, again)
    units.waiting.append([(9, 0)])

    assert units.requeue(worker_with(1, 2, 3), "gone") == []

    assert list(units.waiting) == [[(1, 0)], [(2, 0)], [(3, 0)], [(9, 0)]]
    assert again == {(1, 0): WORKER_DIED, (2, 0): WORKER_DIED}


def test_the_second_time_it_runs_alone_and_the_third_time_it_has_killed_its_worker() -> None:
    units = Units({(1, 0): 4}, {})
    units.requeue(worker_with(1, 2), "gone")
    units.waiting.clear()

    assert units.requeue(worker_with(1), "gone") == []
    assert (list(units.waiting), list(units.aside)) == ([], [[(1, 0)]])
    (dead,) = units.requeue(worker_with(1), "its process died")

    assert isinstance(dead, Rollout)
    assert (dead.example_id, dead.attempt) == (1, 4)
    assert dead.error is not None
    assert dead.error.type == "WorkerDied"
