"""`prime cache`: what it prints, and the codes that it ends with."""

from pathlib import Path

import pytest

from prime_cli.core.digests import digest_bytes
from tests.helpers.cli import Prime

WHEEL = b"bytes of a wheel"
SHA256 = digest_bytes(WHEEL)


@pytest.fixture
def wheel(home: Path) -> Path:
    """The only thing that is kept."""
    path = home / ".prime" / "wheels" / SHA256 / "x-1.0-py3-none-any.whl"
    path.parent.mkdir(parents=True)
    path.write_bytes(WHEEL)
    return path


def test_kinds_are_listed_even_when_there_is_nothing(prime: Prime) -> None:
    kinds = {row["kind"]: row["entries"] for row in prime("cache", "list", "-o", "json").json}
    assert kinds["interpreters"] == kinds["bundles"] == 0


def test_entries_of_a_kind_are_listed(prime: Prime, wheel: Path) -> None:
    (record,) = prime("cache", "list", "--kind", "wheels", "--output", "json").json
    assert (record["name"], record["size"]) == (f"wheels/{SHA256}", len(WHEEL))


def test_what_is_new_stays_without_all(prime: Prime, wheel: Path) -> None:
    assert "Removed 0 entries" in prime("cache", "prune").err
    assert wheel.exists()
    told = prime("cache", "prune", "--all", "--dry-run", "--output", "json").json
    assert [each["kind"] for each in told["removed"]] == ["wheels"]
    assert wheel.exists()
    assert "Removed 1 entry, 16 B" in prime("cache", "prune", "--all").err
    assert not wheel.exists()


def test_all_and_an_age_exclude_each_other(prime: Prime) -> None:
    assert prime("cache", "prune", "--all", "--older-than", "1d").code == 2
    assert prime("cache", "prune", "--older-than", "soon").code == 2


def test_what_is_broken_ends_with_8_and_is_fixed(prime: Prime, wheel: Path) -> None:
    assert "no damage found" in prime("cache", "verify").ok().err
    wheel.write_bytes(b"other")
    result = prime("cache", "verify")
    assert result.code == 8
    assert SHA256 in result.out
    assert f"wheels/{SHA256}" in result.err
    told = prime("cache", "verify", "--fix", "--output", "json").ok().json
    assert [each["removed"] for each in told["broken"]] == [True]
    assert not wheel.exists()
    prime("cache", "verify").ok()
