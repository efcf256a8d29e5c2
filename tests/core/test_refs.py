"""Names of environments, as they are typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import BadReference
from prime_cli.core.refs import (
    EnvRef,
    add_extras,
    is_namesake,
    is_reference,
    module_name,
    normalize_name,
    split_extras,
)

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


def test_extras_stand_before_version_and_pin() -> None:
    ref = EnvRef.parse(f"ada/wordle[NLP, vision_2]@1.2#sha256={DIGEST}")
    assert ref == EnvRef("ada", "wordle", "1.2", DIGEST, ("nlp", "vision-2"))
    assert (str(ref), ref.with_extras) == ("ada/wordle@1.2", "ada/wordle[nlp,vision-2]@1.2")
    assert ref.is_same(EnvRef.parse("ada/wordle"))


@pytest.mark.parametrize(
    "text",
    [
        *("ada/w[]", "ada/w[a,]", "ada/w[a]b", "ada/w[a][b]"),
        *("ada/w@1[a]", "[a]/w", "ada/w[a", "ada/w[-]"),
    ],
)
def test_what_is_no_extra_is_refused(text: str) -> None:
    with pytest.raises(BadReference):
        EnvRef.parse(text)


NAME = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
EXTRAS = st.lists(NAME.map(normalize_name), unique=True, max_size=4).map(sorted).map(tuple)


@given(NAME, NAME, EXTRAS, st.none() | st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3})?", fullmatch=True))
def test_every_reference_is_read_as_it_was_written(
    owner: str, name: str, extras: tuple[str, ...], version: str | None
) -> None:
    ref = EnvRef(owner, name, version, extras=extras)
    assert EnvRef.parse(ref.with_extras) == ref


@given(
    st.sampled_from(["my-env", "./my env", "../a.whl", "/x/y", "my-env@1.2", "a/b@1", "/a@b#/c"]),
    EXTRAS,
)
def test_extras_are_taken_off_any_word_and_put_back(word: str, extras: tuple[str, ...]) -> None:
    assert split_extras(add_extras(word, extras)) == (word, extras)


@given(st.text(max_size=40))
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        plain, extras = split_extras(text)
    except BadReference:
        return
    assert extras or plain == text


@pytest.mark.parametrize("name", ["My-Env.2", "my_env_2", "MY--env.-2"])
def test_every_spelling_of_a_project_has_one_module(name: str) -> None:
    assert module_name(name) == "my_env_2"
    assert is_namesake("My_Env_2", name)
    assert not is_namesake("my_env", name)
