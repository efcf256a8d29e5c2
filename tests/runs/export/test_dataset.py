import re

import pytest
from hypothesis import given

from prime_cli.runs.export.dataset import escaped, make_card
from prime_cli.runs.summary import Counts, Metric
from tests.runs.export.hostile import texts
from tests.runs.export.test_page import summary


def metadata_of(card: str) -> dict[str, object]:
    from huggingface_hub import DatasetCard  # a third of a second

    return vars(DatasetCard(card).data)


@given(texts)
def test_any_name_leaves_the_metadata_whole(name: str) -> None:
    found = metadata_of(make_card(summary(name), {"Sampling": name}, 3))
    assert found["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}
    ]
    assert found["size_categories"] == ["n<1K"]


@given(texts)
def test_texts_of_others_are_one_line_without_markup(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert not re.search(r"(?<!\\)[<>|`\[\]*_]", shown)


def test_the_card_describes_the_run_and_its_results() -> None:
    card = make_card(summary(counts=Counts(4, 3, 1, 0)), {"Environment sha256": "ab" * 32}, 4)
    assert "| Errored | 1 |" in card
    assert "| Mean reward | 1 |" in card
    assert f"| Environment sha256 | {'ab' * 32} |" in card
    assert "`prime eval export`" in card


def test_a_metric_may_have_the_name_of_a_figure_of_the_card() -> None:
    card = make_card(summary(metrics={"Scored": Metric(0.25, 0.0)}), {}, 1)
    assert "| Scored | 1 |" in card
    assert "| Scored | 0.25 |" in card


@pytest.mark.parametrize(
    ("rollouts", "size"), [(0, "n<1K"), (1_000, "1K<n<10K"), (5_000_000, "n>1M")]
)
def test_the_size_is_in_the_hubs_words(rollouts: int, size: str) -> None:
    assert metadata_of(make_card(summary(), {}, rollouts))["size_categories"] == [size]
