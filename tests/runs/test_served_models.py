"""What a person reads of the models that answered."""

from prime_cli.models.gateway.ledger import ServedBy
from prime_cli.runs.served_models import ServedModel, served_models, served_words


def test_sessions_add_up_and_the_policy_comes_first() -> None:
    before = [ServedModel(requested="m", model="m-1", calls=2)]
    counted = {ServedBy("judge", "j", "j", None): 9, ServedBy("policy", "m", "m-1", None): 3}
    assert [(each.role, each.calls) for each in served_models(before, counted)] == [
        ("policy", 5),
        ("judge", 9),
    ]


def test_the_model_that_was_asked_for_is_not_mentioned_and_another_one_is() -> None:
    assert served_words([ServedModel(requested="m", model="m", calls=2)]) == []
    assert served_words([ServedModel(requested="m", calls=2)]) == []
    assert served_words([ServedModel(requested="m", model="m-2026", calls=1200)]) == [
        "m-2026 in 1,200 calls"
    ]


def test_a_change_of_the_system_is_told_and_so_is_a_judge() -> None:
    changed = [
        ServedModel(requested="m", model="m", system_fingerprint="fp_1", calls=2),
        ServedModel(requested="m", model="m", system_fingerprint="fp_2", calls=1),
        ServedModel(role="judge", requested="j", model="k", calls=3),
    ]
    assert served_words(changed) == [
        "m (fp_1) in 2 calls",
        "m (fp_2) in 1 calls",
        "k in 3 calls for judge",
    ]
