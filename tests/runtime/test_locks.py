"""Locks survive the disk, and uv reads what is made of them."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.runtime.locks import (
    SCHEMA,
    load_lock,
    lock_digest,
    lock_path,
    read_requirements_file,
    requirements_text,
    save_lock,
)
from prime_cli.wire.locks import Lock, LockedPackage

WHEEL = "a" * 64
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,5})?", fullmatch=True)
DIGESTS = st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), min_size=1, max_size=3)
MARKERS = st.sampled_from(
    [None, "sys_platform == 'win32'", "python_full_version < '3.12' and os_name != 'nt'"]
)
PACKAGES = st.builds(
    LockedPackage,
    name=NAMES,
    version=st.sampled_from(["1.0", "2.1.3rc1", "0.1.5.post0", "3!1.0+cu128"]),
    marker=MARKERS,
    sha256=DIGESTS.map(lambda digests: tuple(sorted(set(digests)))),
)


def make_lock(*packages: LockedPackage) -> Lock:
    return Lock(SCHEMA, WHEEL, "0.1.14", "v0", "3.11", "date", packages)


@given(st.lists(PACKAGES, unique_by=lambda package: package.name))
def test_requirements_read_back_are_the_same_packages(packages: list[LockedPackage]) -> None:
    text = requirements_text(make_lock(*packages).packages)

    assert read_requirements_file(text) == tuple(packages)


def test_uvs_own_format_is_read() -> None:
    text = (
        "# made by uv\n"
        "Tiny_Env @ file:///tmp/tiny_env-0.1.0-py3-none-any.whl\n"
        "other[x] @ git+https://token@example.org/other@abc\n"
        f"numpy==2.0 ; sys_platform == 'linux' \\\n    --hash=sha256:{'1' * 64} \\\n"
        f"    --hash=sha256:{'0' * 64}\n"
        "    # via tiny-env\n"
    )

    packages = read_requirements_file(text, without=["tiny-env"])

    digests = ("0" * 64, "1" * 64)
    assert packages == (
        LockedPackage("other", "", source="git+https://example.org/other@abc"),
        LockedPackage("numpy", "2.0", "sys_platform == 'linux'", digests),
    )


def test_hashes_are_omitted_when_one_package_has_none() -> None:
    lock = make_lock(LockedPackage("a", "1", None, ("0" * 64,)), LockedPackage("b", "1"))

    assert requirements_text(lock.packages) == "a==1\nb==1\n"


def test_hashes_are_kept_beside_a_commit() -> None:
    commit = LockedPackage("b", "", "os_name == 'nt'", source="git+https://h.invalid/b@abc")
    lock = make_lock(LockedPackage("a", "1", None, ("0" * 64,)), commit)

    text = requirements_text(lock.packages)

    assert f"a==1 --hash=sha256:{'0' * 64}" in text
    assert read_requirements_file(text)[1].source == commit.source


def test_a_saved_lock_is_loaded_again(tmp_path: Path) -> None:
    lock = make_lock(LockedPackage("a", "1"))

    save_lock(tmp_path, lock)

    assert load_lock(tmp_path, WHEEL) == lock


def test_what_a_flag_asked_for_is_kept_apart(tmp_path: Path) -> None:
    save_lock(tmp_path, make_lock(LockedPackage("a", "1")), "verifiers===0.1.5")

    assert load_lock(tmp_path, WHEEL) is None
    assert load_lock(tmp_path, WHEEL, "verifiers===0.1.5") is not None


def test_a_torn_or_newer_lock_counts_as_none(tmp_path: Path) -> None:
    path = lock_path(tmp_path, WHEEL)
    path.parent.mkdir(parents=True)

    path.write_bytes(b'{"schema": 1, "wheel')
    assert load_lock(tmp_path, WHEEL) is None

    newer = msgspec.structs.replace(make_lock(), schema=SCHEMA + 1)
    save_lock(tmp_path, newer)
    assert load_lock(tmp_path, WHEEL) is None


def test_the_digest_is_of_the_packages_alone() -> None:
    one, two = LockedPackage("a", "1"), LockedPackage("b", "2")

    searched = msgspec.structs.replace(make_lock(two, one), found_by="search", python="3.12")

    assert lock_digest(make_lock(one, two)) == lock_digest(searched)
    assert lock_digest(make_lock(one)) != lock_digest(searched)


@pytest.mark.parametrize(
    "package",
    [
        LockedPackage("--index-url=http://evil.example/simple", "1"),
        LockedPackage("a", "1\n--find-links=http://evil.example"),
        LockedPackage("a", "1", marker="python_version > '3'\n-e ./x"),
        LockedPackage("a", "", source="git+https://x/y@1\r--pre"),
    ],
)
def test_a_lock_cannot_bring_options_of_uv(package: LockedPackage) -> None:
    lock = Lock(1, "0" * 64, "0.1.14", "v0", "3.11", "t", (package,))
    with pytest.raises(UsageError):
        requirements_text(lock.packages)
