"""Whether scores stay comparable between two sides, in words, as far as reading can tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prime_cli.core.formatting import first_few
from prime_cli.envs.difference.scoring import ScoringCode, digest_code
from prime_cli.envs.difference.sides import Side

Comparable = Literal["yes", "no", "unsure"]

_ABOUT = (".md", ".rst", ".pyi")
_TESTS = frozenset({"test", "tests"})


@dataclass(frozen=True)
class Verdict:
    """`comparable` is `no` where reward code changed, `unsure` where reading cannot tell."""

    comparable: Comparable
    sentence: str


def judge(
    a: Side,
    b: Side,
    rewards: Mapping[str, str],
    scoring: tuple[ScoringCode, ScoringCode],
    dependencies: Sequence[str],
) -> Verdict:
    """What the differences mean for scores; `rewards` are the parts of reward code that changed."""
    if a.sha256 is not None and a.sha256 == b.sha256 and a.files == b.files:
        return Verdict("yes", "Scores stay comparable: these are the same bytes")
    if a.generation != b.generation:
        return Verdict("no", f"Scores are not comparable: {_was(a)} became {_was(b)}")
    unread = [name for side in scoring for name in side.broken]
    # What is missing where a module cannot be parsed may be there all the same.
    certain = [name for name, status in rewards.items() if status == "changed" or not unread]
    if certain:
        return Verdict("no", f"Scores are not comparable: reward code changed ({_some(certain)})")
    code = list(_changed_code(a, b))
    if code:
        return Verdict("unsure", _about_code(code, unread, scoring))
    if dependencies:
        return Verdict(
            "unsure",
            "Scores are likely to stay comparable: all code is the same, but dependencies changed "
            f"({_some(dependencies)})",
        )
    return Verdict("yes", "Scores stay comparable: no code, no data and no dependency changed")


def _about_code(
    changed: Sequence[str], unread: Sequence[str], scoring: tuple[ScoringCode, ScoringCode]
) -> str:
    """For code that changed and is not known to score."""
    if unread:
        return f"Whether scores stay comparable is unknown: {_some(unread)} cannot be read"
    if not all(side.parts for side in scoring):
        return f"Scores may not be comparable: {_some(changed)} changed, no reward code was found"
    return (
        "Scores may not be comparable: the reward code is the same, but what is asked or how may "
        f"not be ({_some(changed)})"
    )


def _changed_code(a: Side, b: Side) -> Iterator[str]:
    """The modules that do something else, and other files that may be data."""
    for path in sorted({*a.files, *b.files}):
        if a.files.get(path) != b.files.get(path) and not _is_about(path):
            one, other = a.read(path), b.read(path)
            is_code = path.endswith(".py") and one is not None and other is not None
            if not (is_code and digest_code(one or "") == digest_code(other or "")):
                yield path


def _is_about(path: str) -> bool:
    """Whether a file is documentation, tests or metadata rather than code or data."""
    first, *rest = path.split("/")
    if first.endswith(".dist-info") or not _TESTS.isdisjoint(path.split("/")[:-1]):
        return True
    return not rest and path.lower().endswith(_ABOUT)


def _was(side: Side) -> str:
    return f"{side.label} ({side.generation or 'no environment'})"


def _some(names: Sequence[str] | Mapping[str, str]) -> str:
    return first_few(list(dict.fromkeys(names)))
