"""Which wheels were attacked on this machine, and with what verdict."""

from prime_cli.core.paths import home_path, make_folder, prime_home, write_atomically
from prime_cli.runs.plan import RunEnvironment

_FOLDER = "attacks"


def keep_verdict(sha256: str, verdict: str) -> None:
    """Take note of the verdict of a wheel; raises StorageFailed."""
    folder = make_folder(home_path(prime_home(), "cache") / _FOLDER)
    write_atomically(folder / sha256, verdict.encode())


def doubts_of(environment: RunEnvironment) -> str | None:
    """What is not known of an environment's rewards, in words; None if they have held."""
    command = f"`prime env check {environment.slug} --attack`"
    path = home_path(prime_home(), "cache") / _FOLDER / environment.sha256
    try:
        verdict = path.read_text(encoding="utf-8")
    except OSError:
        return f"never attacked here: try {command}"
    if verdict == "holds":
        return None
    found = "leak" if verdict == "leaks" else "may leak"
    return f"they {found}: see {command}"
