"""Which verifiers does an environment run with? Tried in order, accepted by one test.

1. the recorded lock, 2. the packages as of the publication date, 3. with the first verifiers
released after it, 4. with what the source asks for, 5. one release of each family, newest first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from packaging.specifiers import SpecifierSet

from prime_cli.runtime import families
from prime_cli.runtime.families import Release
from prime_cli.runtime.packages import WheelPackage
from prime_cli.runtime.reading import Reading

# A release and what it needs are uploaded within the hour.
_SLACK = timedelta(hours=1)


@dataclass(frozen=True)
class Step:
    """One try: packages `as_of` a time (None: of today) with some `verifiers` (a specifier).

    `name` is kept in the lock, `said` is told to the user, `python` is a `requires-python` known
    of the verifiers that this step will find.
    """

    name: str
    said: str
    verifiers: str = ""
    override: bool = False
    as_of: datetime | None = None
    python: str | None = None


def plan_steps(package: WheelPackage, reading: Reading, wanted: str | None) -> Iterator[Step]:
    """The tries for a package without a lock, best first; bounded.

    `wanted` is the specifier of `--verifiers`: then there is only that, today's packages first
    and those of its own time second.
    """
    if wanted is not None:
        yield from _as_asked(wanted)
        return
    yield from _by_date(package.published)
    if package.published is not None:
        yield from _next_release(package.published, reading)
    inside = families.candidates(reading.span.specifier)
    for release in inside[:1]:
        yield _with_release("static", _why(reading, release), release)
    # Old code may need the other packages of its time too.
    for release in inside[:1]:
        yield from _in_its_era("static", release)
    everywhere = families.candidates(SpecifierSet())
    others = [*inside[1:], *(release for release in everywhere if release not in inside)]
    for release in others:
        yield _with_release("search", f"trying verifiers {release.version}", release)
    for release in inside[1:]:
        yield from _in_its_era("search", release)


def _as_asked(wanted: str) -> Iterator[Step]:
    release = families.newest_release(within=SpecifierSet(wanted))
    python = release.python if release else None
    said = f"using verifiers{wanted} as asked"
    yield Step("--verifiers", said, wanted, override=True, python=python)
    era = families.end_of_era(release.version) if release else None
    if era is not None:
        said = f"{said}, with the packages of {era:%Y-%m-%d}"
        yield Step("--verifiers", said, wanted, override=True, as_of=era, python=python)


def _by_date(published: datetime | None) -> Iterator[Step]:
    now = datetime.now(UTC)
    release = families.newest_release(before=published or now)
    python = release.python if release else None
    if published is None:
        yield Step("date", "resolving its packages as of today", python=python)
    else:
        said = f"resolving its packages as of {published:%Y-%m-%d}, when it was published"
        yield Step("date", said, as_of=published, python=python)


def _next_release(published: datetime, reading: Reading) -> Iterator[Step]:
    release = families.first_release_after(published, reading.span.specifier)
    if release is None and reading.span.last is None:
        yield Step("next-release", "resolving its packages as of today")
    elif release is not None:
        said = f"trying verifiers {release.version}, the first release after its publication"
        yield Step(
            "next-release",
            said,
            f"=={release.version}",
            as_of=release.published + _SLACK,
            python=release.python,
        )


def _with_release(name: str, said: str, release: Release) -> Step:
    return Step(name, said, f"=={release.version}", python=release.python)


def _in_its_era(name: str, release: Release) -> Iterator[Step]:
    era = families.end_of_era(release.version)
    if era is not None:
        said = f"trying verifiers {release.version} with the packages of {era:%Y-%m-%d}"
        yield Step(name, said, f"=={release.version}", as_of=era, python=release.python)


def _why(reading: Reading, release: Release) -> str:
    words = f"trying verifiers {release.version}"
    return f"{words}: {reading.reason}" if reading.reason else words
