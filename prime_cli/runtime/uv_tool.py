"""uv, which resolves, creates virtual environments and installs for us, and its cache."""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from prime_cli.core.errors import EnvironmentFailed, Offline, PrimeError, StorageFailed, Unreachable
from prime_cli.core.installation import package_command
from prime_cli.core.network import check_certificates, proxy_failure
from prime_cli.core.paths import home_path, prime_home
from prime_cli.core.process import Completed, TimedOut, child_environment, run
from prime_cli.core.progress import Task
from prime_cli.runtime.worker_log import slow_words


def spare_cache(environ: Mapping[str, str]) -> Path | None:
    """A cache below prime's home if uv's usual one cannot be written; else None.

    A job without HOME, or with a read-only one, then needs only PRIME_HOME. Where uv keeps its
    cache: https://docs.astral.sh/uv/concepts/cache/#cache-directory.
    """
    if "UV_CACHE_DIR" in environ or "UV_NO_CACHE" in environ or sys.platform == "win32":
        return None
    usual = _usual_cache(environ)
    if usual is not None and _can_be_made(usual):
        return None
    return home_path(prime_home(), "uv")


def _usual_cache(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("XDG_CACHE_HOME"):
        return Path(named) / "uv"
    try:
        return Path.home() / ".cache" / "uv"
    except RuntimeError:  # a container's user id without a home
        return None


def _can_be_made(folder: Path) -> bool:
    """Whether its nearest existing parent is writable."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return os.access(there, os.W_OK)


# A resolver that downloads gigabytes may be slow, but must not hang forever.
_LONGEST_SECONDS = 3600

_NETWORK = re.compile(
    r"error sending request|dns error|connection (refused|reset)|failed to fetch|"
    r"request failed after|tcp connect error|timed out|temporary failure in name resolution",
    re.IGNORECASE,
)
_THROUGH_PROXY = re.compile(
    r"for url \((https?://[^)\s]+)\).*(?:tunnel|proxy|connect error)", re.DOTALL
)
_NEEDS_NETWORK = re.compile(
    r"network (was|is) disabled|network connectivity is disabled|"
    r"unavailable because the network|not found in the cache|--offline",
    re.IGNORECASE,
)
_FULL = ("28", "112", "122")
"""ENOSPC, Windows' ERROR_DISK_FULL, EDQUOT."""
_DISK = re.compile(r"(?P<reason>[A-Z][^:`()\n]*) \(os error (?P<number>13|28|30|112|122)\)")
_WRITING = re.compile(
    r"failed to (create|write|copy|rename)|could not (create|acquire)", re.IGNORECASE
)
_BECAUSE = re.compile(r"[Bb]ecause (.+?),? we can conclude")
_SELF_EVIDENT = re.compile(r"only \S+==\S+ is available|you require [\w.-]+")
_MOST_FACTS = 4
_NOT_BUILT = re.compile(r"Failed to (?:download and )?build `(?P<package>[^`]+)`")
_BY_URL = re.compile(r"`(?P<name>[\w.-]+)\s+@\s+[a-z+]+://(?:[^/@`]*@)?(?P<host>[^/:`]+)")
"""A requirement with a URL, in a message from uv."""


@lru_cache(maxsize=1)
def find_uv() -> str:
    """The path of uv: the copy that prime depends on, else one on PATH."""
    # The package finds its own binary beside this interpreter, even if PATH has another one.
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        found = shutil.which("uv")
    if found is None:
        raise EnvironmentFailed(
            "uv is not installed beside prime",
            hint=f"install it with `{package_command('uv')}`",
        )
    return found


def run_uv(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    offline: bool = False,
    cwd: Path | None = None,
    download_python: bool = False,
    variables: Mapping[str, str] | None = None,
    task: Task | None = None,
) -> Completed:
    """Run uv, with `variables` besides the usual ones; the caller judges its exit code.

    `task` shows for how long, since uv says nothing where it builds packages from their sources.
    Raises StorageFailed if the disk was at fault, Unreachable if it never ends. Never downloads an
    interpreter unless `download_python`. It gets the credentials of indexes and no others, and no
    active virtual environment: every call names its interpreter.
    """
    env = child_environment(installs=True)
    env.pop("VIRTUAL_ENV", None)
    env["UV_PYTHON_DOWNLOADS"] = "automatic" if download_python else "never"
    env["UV_NO_PROGRESS"] = "1"
    if cache := spare_cache(env):
        env["UV_CACHE_DIR"] = str(cache)
    env.update(variables or {})
    words = [find_uv(), *arguments, *(["--offline"] if offline else [])]
    try:
        watch = None if task is None else partial(_show_time, task)
        completed = run(words, env=env, cwd=cwd, timeout=_LONGEST_SECONDS, watch=watch)
    except TimedOut as error:
        raise Unreachable(
            f"uv did not finish within {_LONGEST_SECONDS // 60} minutes",
            hint="check that the package index responds, then run the same command again",
            detail=error.partial.last_lines(),
        ) from error
    if failure := disk_failure(completed):
        raise failure
    return completed


def _show_time(task: Task, seconds: float, _: str) -> None:
    task.update(alert=slow_words(seconds, "uv may be building packages from their sources"))


def disk_failure(completed: Completed) -> StorageFailed | None:
    """The error behind a failed uv call if the disk was at fault; None if it was not."""
    output = completed.last_lines(40)
    found = None if completed.ok else _DISK.search(output)
    if found is None or not (found["number"] in _FULL or _WRITING.search(output)):
        return None
    if found["number"] in _FULL:
        return StorageFailed(
            "The disk is full, so uv could not continue",
            hint="free some space, then run the same command again",
            detail=completed.last_lines(),
        )
    return StorageFailed(
        f"uv could not write its files: {found['reason']}",
        hint="run the command in a folder that can be written, or set UV_CACHE_DIR to one",
        detail=completed.last_lines(),
    )


def reason_of_failure(completed: Completed) -> str:
    """Why uv failed, as one clause in its own words that names the package."""
    text = " ".join(completed.err.split())
    built = _NOT_BUILT.search(text)
    if built is not None:
        lines = [line.strip() for line in completed.err.partition("\nhint:")[0].splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f"`{built['package']}` could not be built from source: {last}"
    facts = [fact for reason in _BECAUSE.findall(text) for fact in reason.split(" and ")]
    telling = [fact for fact in dict.fromkeys(facts) if not _SELF_EVIDENT.fullmatch(fact)]
    if telling:
        return " and ".join(telling[:_MOST_FACTS])
    return next(iter(completed.last_lines(1).splitlines()), "uv gave no reason").strip()


def network_failure(completed: Completed, *, offline: bool) -> PrimeError | None:
    """The error behind a failed uv call if the network was at fault; None if it was not.

    Raises UsageError if the certificates are, for want of the file that a variable names.
    """
    output = completed.last_lines(40)
    if offline and _NEEDS_NETWORK.search(output):
        return Offline(
            "A required package is not in uv's cache, and prime is offline",
            hint="run the same command once without `--offline`",
            detail=completed.last_lines(),
        )
    if _NETWORK.search(output):
        check_certificates(os.environ)
        asked = _THROUGH_PROXY.search(output)
        why = completed.last_lines(1).strip().removeprefix("cause: ")
        if asked and (failure := proxy_failure(asked[1], why)):
            failure.detail = completed.last_lines()
            return failure
        by_url = _BY_URL.search(output)
        if by_url:
            return Unreachable(
                f"{by_url['host']} did not answer, the host of the URL of `{by_url['name']}`",
                hint="check the URL, and that its server is up",
                detail=completed.last_lines(),
            )
        if "invalid peer certificate" in output:
            return Unreachable(
                "The package index's certificate is from an unknown authority",
                hint="set SSL_CERT_FILE to your authority's certificates, or use the "
                "system's with UV_SYSTEM_CERTS=1",
                detail=completed.last_lines(),
            )
        return Unreachable(
            "The package index did not answer",
            hint="check that the index is up, or add `--offline` to use only the cache",
            detail=completed.last_lines(),
        )
    return None
