"""Samples as clients push them, whose texts a page shows the beginning of."""

from prime_cli.pages.rollout import Sample, render_rollout, view_rollout
from prime_cli.pages.runs import Link
from prime_cli.pages.samples import count_errors, sample_of
from prime_cli.pages.templates import render

LONG = "x" * 2_000


def test_texts_of_errors_that_are_cut_say_how_long_they_are() -> None:
    error = {"class": f"a{LONG}", "type": f"b{LONG}", "message": f"c{LONG}"}

    (found,) = count_errors([error])

    for text, begin in ((found.kind, "axx"), (found.type, "bxx"), (found.message, "cxx")):
        assert text.startswith(begin)
        assert text.endswith("… (2,001 characters)")


def test_a_rollout_says_how_long_the_class_of_its_error_is() -> None:
    sample: Sample = sample_of({"error": {"class": LONG, "message": "no"}})

    assert sample.error is not None
    assert sample.error.label.endswith("… (2,000 characters) error")


def test_a_value_that_is_nested_too_deeply_is_said_to_be_so() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]

    view = view_rollout(
        sample_of({"metrics": {"a": deep}, "error": {"message": deep}, "stop_condition": deep}),
        path="/r",
        run=Link("a run", "/"),
        title="a rollout",
    )

    assert "nested too deeply to be shown" in render(render_rollout(view)).decode()


def test_errors_of_a_kind_are_counted_together() -> None:
    one = {"class": "ModelError", "type": "Timeout", "message": "after 3 s"}
    other = {"class": "ModelError", "type": "Timeout", "message": "after 4 s"}

    (found,) = count_errors([one, other])

    assert found == ("ModelError", "Timeout", 2, "after 3 s")
