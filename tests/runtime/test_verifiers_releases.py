"""The table of releases is in order and answers questions about time and version."""

from datetime import UTC, datetime

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from prime_cli.runtime import verifiers_releases


def test_releases_are_in_order_of_time_and_of_version() -> None:
    rows = verifiers_releases.RELEASES

    assert [r.published for r in rows] == sorted(r.published for r in rows)
    assert [r.version for r in rows] == sorted(r.version for r in rows)


def test_every_name_begins_and_ends_at_a_known_release() -> None:
    known = {str(release.version) for release in verifiers_releases.RELEASES}
    spans = [*verifiers_releases.NAMES.values(), *verifiers_releases.SUBMODULES.values()]

    assert {end for span in spans for end in (span.first, span.last) if end} <= known
    assert set(verifiers_releases.REPRESENTATIVES) <= known


def test_the_newest_release_of_a_day_is_what_a_publisher_had() -> None:
    release = verifiers_releases.newest_release(before=datetime(2025, 9, 25, tzinfo=UTC))

    assert release is not None
    assert str(release.version) == "0.1.4"


def test_the_next_release_is_the_first_after_the_day() -> None:
    release = verifiers_releases.first_release_after(datetime(2025, 9, 25, tzinfo=UTC))

    assert release is not None
    assert str(release.version) == "0.1.5"


def test_a_release_was_the_newest_until_the_next_one() -> None:
    assert verifiers_releases.end_of_era(Version("0.1.14")) == datetime(
        2026, 7, 10, 20, 36, 18, tzinfo=UTC
    )
    assert verifiers_releases.end_of_era(verifiers_releases.RELEASES[-1].version) is None


def test_candidates_are_one_of_each_family_newest_first() -> None:
    found = [
        str(release.version) for release in verifiers_releases.candidates(SpecifierSet("<=0.1.12"))
    ]

    assert found == ["0.1.12", "0.1.9.post3", "0.1.5.post0"]


def test_a_gap_between_the_families_is_filled_by_any_release() -> None:
    (found,) = verifiers_releases.candidates(SpecifierSet(">=0.1.6,<0.1.8"))

    assert str(found.version) == "0.1.7.post0"
