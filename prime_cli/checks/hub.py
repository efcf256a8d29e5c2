"""Whether the hub answers, knows the key, and has the same time as this machine."""

from datetime import timedelta

from prime_cli.api.probe import ProbeResult, probe
from prime_cli.checks.findings import Finding, failed, ok, skipped, warned
from prime_cli.checks.place import Place
from prime_cli.core.config import Config
from prime_cli.core.credentials import find_credential
from prime_cli.core.errors import PrimeError, Unreachable, UsageError

SECONDS = 3.0
"""How long a hub may take: one that is up answers this in a fraction of it."""
NOTICED = timedelta(minutes=1)
"""Beyond it "the newest" and "as of that day" may mean something else here than there."""
REFUSED = timedelta(minutes=15)
"""Beyond it buckets refuse signed addresses (RequestTimeTooSkewed of S3)."""

_CLOCK = "clock"
_FIX_CLOCK = "let the system set its clock (NTP), such as `timedatectl set-ntp true`"


def examine(place: Place) -> list[Finding]:
    """One request to the hub of the context, or to the upstream of the one in the box."""
    config = place.config
    if config is None:
        return [skipped("hub", "Not asked: the settings cannot be read")]
    own = config.context.base_url
    url = own or config.upstream
    if url is None:
        return [
            ok("hub", "In this process, with no other hub to ask"),
            skipped(_CLOCK, "There is no hub to compare with"),
        ]
    if place.offline:
        return [skipped(name, "Not asked: prime is offline") for name in ("hub", _CLOCK)]
    try:
        answered = probe(url, key=_key(config), transport=place.transport, seconds=SECONDS)
    except (Unreachable, UsageError) as error:
        return [_unreachable(error, config), skipped(_CLOCK, "No hub told the time")]
    return [_judge(answered, url, config), judge_clock(answered, place)]


def judge_clock(answered: ProbeResult, place: Place) -> Finding:
    """How far this clock is from the hub's, which tells whole seconds."""
    if answered.date is None:
        return skipped(_CLOCK, "The hub did not tell the time")
    # It wrote its date at some moment between the question and the answer.
    middle = place.clock() - timedelta(seconds=answered.seconds / 2)
    apart = abs(middle - answered.date)
    slack = timedelta(seconds=1 + answered.seconds / 2)
    word = "behind" if middle < answered.date else "ahead of"
    sentence = f"This clock is {_span(apart)} {word} the hub's"
    if apart > REFUSED + slack:
        return failed(_CLOCK, sentence, _FIX_CLOCK)
    if apart > NOTICED + slack:
        return warned(_CLOCK, sentence, _FIX_CLOCK)
    return ok(_CLOCK, "This clock and the hub's agree")


def _judge(answered: ProbeResult, url: str, config: Config) -> Finding:
    own = config.context.base_url is not None
    who = url if own else f"In this process; its upstream {url}"
    if answered.status >= 500:  # noqa: PLR2004 - server errors begin here
        told = f"{who} answers with status {answered.status}"
        return (failed if own else warned)("hub", told, "try again later, or ask who runs it")
    if answered.with_key and answered.status in (401, 403):
        return failed("hub", f"{who} does not take the key", "`prime login`")
    knows = " and knows the key" if answered.with_key and answered.status == 200 else ""  # noqa: PLR2004
    return ok("hub", f"{who} answers in {answered.seconds:.1f} s{knows}")


def _unreachable(error: PrimeError, config: Config) -> Finding:
    if config.context.base_url is not None:
        if isinstance(error, UsageError):
            return failed("hub", error.message, "see `proxy` and `certificates`")
        return failed("hub", error.message, error.hint or "see `prime config show`")
    fix = "nothing local needs it; `prime config set upstream none` stops asking"
    return warned("hub", f"In this process; its upstream: {error.message}", fix)


def _key(config: Config) -> str | None:
    try:
        return find_credential(config).key
    except PrimeError:
        return None  # told by the check of the key


def _span(apart: timedelta) -> str:
    seconds = apart.total_seconds()
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"  # noqa: PLR2004
