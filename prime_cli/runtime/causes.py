"""Why an environment failed: what its exception hides, and a host that could not be reached."""

import re
from pathlib import Path

HUGGING_FACE = "huggingface.co"
_END_OF_LOG = 8 * 1024
_CHAINED = re.compile(
    r"\n\n(?:The above exception was the direct cause|During handling of the above exception)"
    r"[^\n]*\n\n"
)
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(: .+)?")
_UNREACHABLE = re.compile(
    r"Failed to resolve '([\w.-]+)'|ConnectionPool\(host='([\w.-]+)'[^)]*\): Max retries|"
    r"thrown while requesting \w+ https?://([\w.-]+)|Cannot reach https?://([\w.-]+)|"
    r"couldn't connect to '?https?://([\w.-]+)|"
    r"(?:Couldn't reach .* on the Hub|Couldn't reach the Hugging Face Hub|"
    r"LocalEntryNotFoundError|OfflineModeIsEnabled)()",
    re.IGNORECASE,
)
"""As urllib3, huggingface_hub (0.x with requests, 1.x with httpx) and datasets say it."""


def cause_of(traceback: str) -> str | None:
    """The first exception of a chain, as `Type: message`; None if the last one is the only one."""
    links = _CHAINED.split(traceback)
    return _last_exception(links[0]) if len(links) > 1 else None


def with_cause(message: str, traceback: str) -> str:
    """`message`, and what it hides: a host that cannot be reached, else the first exception."""
    line, end, rest = message.partition("\n")
    first = cause_of(traceback)
    if host := unreachable_host(f"{message}\n{traceback}"):
        line += f" ({unreachable_words(host)[0]})"
    elif first and first not in message:
        line += f", because of {first}"
    return f"{line}{end}{rest}"


def unreachable_host(text: str) -> str | None:
    """The host that a traceback or a log says cannot be reached; None if none."""
    found = _UNREACHABLE.search(text)
    if found is None:
        return None
    return next(filter(None, found.groups()), HUGGING_FACE).lower()


def unreachable_words(host: str) -> tuple[str, str]:
    """What to say of a host that cannot be reached, as a clause, and what to do."""
    hint = f"run it once where {host} can be reached"
    if host == HUGGING_FACE:
        hint += (
            ": its data is kept below HF_HOME, and read from there with `--offline`; "
            "`prime env bundle --data` takes it to another machine"
        )
    return f"{host} cannot be reached", hint


def end_of_log(path: Path) -> str:
    """The last lines of a worker's log; empty without one."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _END_OF_LOG))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _last_exception(link: str) -> str | None:
    """What is raised in the end: the last line at the margin, without the exception's module."""
    found = [raised for line in link.splitlines() if (raised := _RAISED.fullmatch(line))]
    return f"{found[-1][1]}{found[-1][2] or ''}" if found else None
