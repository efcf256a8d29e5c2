"""Names of environments, as they are typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import BadReference
from prime_cli.core.refs import EnvRef, is_reference

DIGEST = "0f" * 32


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("ada/wordle", EnvRef("ada", "wordle")),
        ("ada/wordle@latest", EnvRef("ada", "wordle")),
        ("ada/wordle@1.2", EnvRef("ada", "wordle", "1.2")),
        (f"ada/wordle@1.2#sha256={DIGEST}", EnvRef("ada", "wordle", "1.2", DIGEST)),
        (f"ada/wordle#sha256={DIGEST.upper()}", EnvRef("ada", "wordle", None, DIGEST)),
    ],
)
def test_a_reference_is_read(text: str, ref: EnvRef) -> None:
    assert EnvRef.parse(text) == ref
    assert is_reference(text)


@pytest.mark.parametrize(
    "text",
    ["wordle", "ada/", "ada/wordle#", "ada/wordle#sha256=", "ada/wordle#md5=0f", "ada/w@#sha256=0"],
)
def test_anything_else_is_not_one(text: str) -> None:
    with pytest.raises(BadReference):
        EnvRef.parse(text)


def test_the_pin_is_not_part_of_the_name() -> None:
    assert str(EnvRef.parse(f"ada/wordle@1.2#sha256={DIGEST}")) == "ada/wordle@1.2"


@given(st.text(max_size=90))
def test_a_pin_is_a_whole_digest_or_an_error(text: str) -> None:
    try:
        ref = EnvRef.parse(f"ada/wordle@1#sha256={text}")
    except BadReference:
        return
    assert ref.sha256 is not None
    assert len(ref.sha256) == 64
    assert int(ref.sha256, 16) >= 0


def test_one_environment_is_the_same_in_every_version_and_spelling() -> None:
    ref = EnvRef.parse("ada/word-le@1.0")
    assert ref.is_same(EnvRef.parse("ada/Word_Le@2.0"))
    assert not ref.is_same(EnvRef.parse("bob/word-le@1.0"))
    assert not ref.is_same(EnvRef.parse("ada/wordle@1.0"))
