from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from prime_cli.runtime.worker.v0_families import reward_weights, scores_groups


class Rubric:
    def __init__(self, *funcs: Callable[..., Any], weights: tuple[float, ...] = ()) -> None:
        self.funcs = list(funcs)
        self.weights = list(weights) or [1.0] * len(funcs)


Rubric.__module__ = "verifiers.rubrics.rubric"


class Tournament(Rubric):
    async def score_group(self, states: list[Any]) -> None:
        """Compares the rollouts of an example with each other."""


def alone(completion: str, answer: str) -> float:
    return 1.0


def together(completions: list[str]) -> list[float]:
    return [1.0]


def test_rollouts_are_scored_alone_unless_something_says_otherwise() -> None:
    assert not scores_groups(SimpleNamespace(rubric=Rubric(alone)))
    assert not scores_groups(SimpleNamespace(rubric=None))


def test_verifiers_own_word_counts() -> None:
    assert scores_groups(SimpleNamespace(rubric=Rubric(), requires_group_rollouts=True))


def test_a_function_of_many_completions_scores_a_group() -> None:
    assert scores_groups(SimpleNamespace(rubric=Rubric(alone, together)))


def test_a_rubric_with_group_scoring_of_its_own_does_too() -> None:
    assert scores_groups(SimpleNamespace(rubric=Tournament(alone)))


def test_rubrics_within_rubrics_and_within_environments_are_seen() -> None:
    inner = SimpleNamespace(rubrics=[Rubric(alone), Rubric(together)])
    assert scores_groups(SimpleNamespace(rubric=inner))
    outer = SimpleNamespace(rubric=Rubric(), envs=[SimpleNamespace(rubric=Rubric(together))])
    assert scores_groups(outer)


def test_a_ring_of_rubrics_ends() -> None:
    ring = SimpleNamespace(rubrics=[])
    ring.rubrics.append(ring)
    assert not scores_groups(SimpleNamespace(rubric=ring))


def test_weights_are_known_by_the_names_of_the_functions() -> None:
    inner = SimpleNamespace(rubrics=[Rubric(alone, weights=(0.0,)), Rubric(together)])
    weights = reward_weights(SimpleNamespace(rubric=inner))
    assert weights == {"alone": 0.0, "together": 1.0}
