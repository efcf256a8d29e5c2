from prime_cli.evals.export.spent import parts_of, spent_of

COUNTED = {"calls": 3, "input": 12_000, "output": 40, "cost": 0.42}


def test_counts_have_labels_and_what_is_zero_is_left_out() -> None:
    assert spent_of(COUNTED | {"cached": 0}) == {
        "Calls": "3",
        "Input tokens": "12,000",
        "Output tokens": "40",
        "Cost": "$0.42",
    }


def test_a_cost_without_a_price_is_unknown_and_one_not_kept_is_not_shown() -> None:
    assert spent_of({"calls": 3, "cost": None, "unpriced": 3})["Cost"] == "unknown"
    assert "Cost" not in spent_of({"calls": 3})
    assert spent_of({}) == {}


def test_judges_and_each_of_several_models_are_apart() -> None:
    usage = COUNTED | {"roles": {"policy": COUNTED, "judge": COUNTED}, "models": {"m": COUNTED}}
    assert [name for name, _ in parts_of(usage)] == ["judge", "m"]
    assert parts_of(COUNTED) == []
