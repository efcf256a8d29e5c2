"""Tags and notes of a run."""

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.evals.labels import Labels, check_labels
from prime_cli.evals.revision import Revision


def test_a_run_that_goes_on_keeps_its_labels_and_gets_more() -> None:
    before = Labels(tags=("a", "b"), note="first", revision=Revision("1" * 40))
    now = Labels(tags=("b", "c"), revision=Revision("2" * 40))
    assert now.over(before) == Labels(
        tags=("a", "b", "c"), note="first", revision=Revision("1" * 40)
    )
    assert Labels(note="second").over(before).note == "second"


@pytest.mark.parametrize(
    ("tags", "note"), [(("x" * 65,), None), (("a\nb",), None), ((), "x" * 2001)]
)
def test_what_nobody_could_read_is_refused(tags: tuple[str, ...], note: str | None) -> None:
    with pytest.raises(UsageError, match="takes"):
        check_labels(tags, note)
