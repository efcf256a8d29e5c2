"""Which wheels were attacked on this machine, and with what verdict."""

from prime_cli.core.paths import home_path, make_folder, prime_home, write_atomically
from prime_cli.runs.plan import RunEnvironment
from prime_cli.wire.check_reports import CheckSummary

_FOLDER = "attacks"
_TOLD = {"holds": "they held", "leaks": "they leak", "unknown": "they may leak"}


def keep_verdict(sha256: str, verdict: str) -> None:
    """Take note of the verdict of a wheel; raises StorageFailed."""
    folder = make_folder(home_path(prime_home(), "cache") / _FOLDER)
    write_atomically(folder / sha256, verdict.encode())


def doubts_of(environment: RunEnvironment, published: CheckSummary | None = None) -> str | None:
    """What is not known of an environment's rewards, in words; None if they have held here.

    `published` is the report that came with it, which is its publisher's word.
    """
    command = f"`prime env check {environment.slug} --attack`"
    path = home_path(prime_home(), "cache") / _FOLDER / environment.sha256
    try:
        verdict = path.read_text(encoding="utf-8")
    except OSError:
        if published is None or published.attack is None:
            return f"never attacked here: try {command}"
        return f"{_TOLD[published.attack]}, by its publisher's report: try {command}"
    if verdict == "holds":
        return None
    return f"{_TOLD.get(verdict, 'they may leak')}: see {command}"
