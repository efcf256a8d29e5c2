import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from prime_cli.core.errors import UsageError
from prime_cli.core.versions import bump_patch, next_post, next_rc

RELEASES = st.lists(st.integers(0, 50), min_size=1, max_size=4).map(
    lambda numbers: ".".join(map(str, numbers))
)
VERSIONS = st.builds(
    "{}{}{}{}".format,
    RELEASES,
    st.sampled_from(["", "a1", "b2", "rc1", "rc9"]),
    st.sampled_from(["", ".post1", ".post3"]),
    st.sampled_from(["", ".dev2"]),
)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.1.9", "0.1.10"), ("1", "1.0.1"), ("0.2.0rc1", "0.2.0"), ("1!1.2", "1!1.2.1"),
     ("0.1.0.post2", "0.1.1"), ("1.2.3.4", "1.2.4.0"), ("0.1.0.dev3", "0.1.0")],
)  # fmt: skip
def test_the_next_patch(version: str, expected: str) -> None:
    assert bump_patch(version) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.2.0", "0.2.0rc0"), ("0.2.0rc0", "0.2.0rc1"), ("0.2.0b4", "0.2.0rc0"),
     ("0.2.0.post1", "0.2.1rc0")],
)  # fmt: skip
def test_the_next_release_candidate(version: str, expected: str) -> None:
    assert next_rc(version) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.2.0", "0.2.0.post0"), ("0.2.0.post0", "0.2.0.post1"), ("0.2.0rc1", "0.2.0rc1.post0")],
)
def test_the_next_post_release(version: str, expected: str) -> None:
    assert next_post(version) == expected


@given(VERSIONS)
def test_patch_and_post_are_later_and_every_result_is_a_version(version: str) -> None:
    assert Version(bump_patch(version)) > Version(version)
    assert Version(next_post(version)) > Version(version)
    assert Version(next_rc(version)).pre is not None


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(UsageError, match="`one` is not a version"):
        bump_patch("one")
