"""What a row says of an episode: upstream's reward, and what each agent got."""

from types import SimpleNamespace
from typing import Any

from prime_cli.runtime.worker.v1_rows import known_of


def trace(name: str, reward: float, *, trainable: bool = True, ok: bool = True) -> Any:
    timing = SimpleNamespace(model_dump=dict)
    return SimpleNamespace(
        agent=SimpleNamespace(name=name, trainable=trainable),
        reward=reward,
        rewards={"won": SimpleNamespace(score=reward)},
        metrics={},
        has_error=not ok,
        branches=[],
        calls=[],
        timing=timing,
        stop_condition=None,
        is_truncated=False,
    )


def known(*traces: Any) -> dict[str, Any]:
    return known_of(SimpleNamespace(traces=traces))


def test_one_agent_has_metrics_by_their_own_names() -> None:
    found = known(trace("agent", 0.5))
    assert (found["reward"], found["metrics"]) == (0.5, {"won": 0.5})


def test_each_player_of_a_zero_sum_game_has_a_reward() -> None:
    found = known(trace("black", 1.0), trace("white", -1.0))
    assert found["reward"] == 0.0
    assert found["metrics"] == {
        "black/won": 1.0,
        "black/reward": 1.0,
        "white/won": -1.0,
        "white/reward": -1.0,
    }


def test_agents_of_one_name_share_no_key() -> None:
    found = known(trace("solver", 1.0), trace("solver", 0.0), trace("judge", 9.0, trainable=False))
    assert found["reward"] == 0.5
    assert found["metrics"] == {
        "solver#1/won": 1.0,
        "solver#1/reward": 1.0,
        "solver#2/won": 0.0,
        "solver#2/reward": 0.0,
        "solver/reward": 0.5,
        "judge/won": 9.0,
        "judge/reward": 9.0,
    }


def test_a_failed_agent_does_not_count_in_the_mean() -> None:
    assert known(trace("a", 1.0), trace("b", 0.0, ok=False))["reward"] == 1.0
