"""The hub of the context: whether it answers, its clock, the key for it, and its pods."""

from datetime import timedelta

from prime_cli.client.api.client import HubClient
from prime_cli.client.api.single_requests import ProbeResult, probe
from prime_cli.client.pods.listing import ListedPod, hourly, hourly_price, listed, moment
from prime_cli.client.pods.lookup import has_extensions
from prime_cli.core.config import Config
from prime_cli.core.credentials import find_credential, keyrings
from prime_cli.core.errors import NotAllowed, NotFound, PrimeError, Unreachable, UsageError
from prime_cli.core.formatting import format_duration, pluralize
from prime_cli.core.http import sends_unencrypted
from prime_cli.doctor.base import CheckContext, Finding, failed, ok, skipped, warned
from prime_cli.envs.project.starters import starters_are_published

SECONDS = 3.0

"""Time limit for the answer of a hub."""

NOTICED = timedelta(minutes=1)

"""Beyond it dates and "newest" may differ between here and the hub."""

REFUSED = timedelta(minutes=15)

"""Beyond it S3 refuses signed URLs (RequestTimeTooSkewed)."""

_CLOCK = "clock"

_FIX_CLOCK = "synchronize the clock (NTP), for example with `timedatectl set-ntp true`"


def check_hub(system: CheckContext) -> list[Finding]:
    """Send one request to the hub of the context, or to the upstream of the embedded hub."""
    config = system.config
    if config is None:
        return [skipped("hub", "Not checked: the settings cannot be read")]
    own = config.context.base_url
    url = own or config.upstream
    if url is None:
        return [
            ok("hub", "The embedded hub, without an upstream"),
            skipped(_CLOCK, "No hub to compare with"),
        ]
    if system.offline:
        return [skipped(name, "Not checked: prime is offline") for name in ("hub", _CLOCK)]
    try:
        answered = probe(url, key=_key_for(config), transport=system.transport, seconds=SECONDS)
    except (Unreachable, UsageError) as error:
        return [_unreachable(error, config), skipped(_CLOCK, "No hub answered")]
    return [_judge(answered, url, config), judge_clock(answered, system)]


def judge_clock(answered: ProbeResult, system: CheckContext) -> Finding:
    """The difference between this clock and the hub's, which has whole seconds."""
    if answered.date is None:
        return skipped(_CLOCK, "The hub did not send its time")
    # The hub wrote its date between the request and the response.
    middle = system.clock() - timedelta(seconds=answered.seconds / 2)
    apart = abs(middle - answered.date)
    slack = timedelta(seconds=1 + answered.seconds / 2)
    word = "behind" if middle < answered.date else "ahead of"
    sentence = f"This clock is {format_duration(apart.total_seconds())} {word} the hub's"
    if apart > REFUSED + slack:
        return failed(_CLOCK, sentence, _FIX_CLOCK)
    if apart > NOTICED + slack:
        return warned(_CLOCK, sentence, _FIX_CLOCK)
    return ok(_CLOCK, "This clock agrees with the hub's")


def _judge(answered: ProbeResult, url: str, config: Config) -> Finding:
    own = config.context.base_url is not None
    who = url if own else f"The embedded hub; its upstream {url}"
    if answered.status >= 500:  # noqa: PLR2004 - server errors begin here
        sentence = f"{who} returned status {answered.status}"
        fix = "try again later, or ask the operator of the hub"
        return (failed if own else warned)("hub", sentence, fix)
    if answered.with_key and answered.status in (401, 403):
        return failed("hub", f"{who} rejects the key", "`prime login`")
    knows = " and accepts the key" if answered.with_key and answered.status == 200 else ""  # noqa: PLR2004
    return ok("hub", f"{who} answers in {answered.seconds:.1f} s{knows}")


def _unreachable(error: PrimeError, config: Config) -> Finding:
    if config.context.base_url is not None:
        if isinstance(error, UsageError):
            return failed("hub", error.message, "see `proxy` and `certificates`")
        return failed("hub", error.message, error.hint or "see `prime config show`")
    fix = "local commands do not need it; disable it with `prime config set upstream none`"
    return warned("hub", f"The embedded hub; its upstream: {error.message}", fix)


def _key_for(config: Config) -> str | None:
    try:
        return find_credential(config).key
    except PrimeError:
        return None  # reported by `check_key`


_NOBODY = "prime doctor"

"""An account without a key."""


def check_key(system: CheckContext) -> list[Finding]:
    """One finding for the key, one for the keyring."""
    if system.config is None:
        return [skipped("key", "Not checked: the settings cannot be read"), _keyring(system)]
    return [_key(system, system.config), _keyring(system)]


def _key(system: CheckContext, config: Config) -> Finding:
    context = config.context
    credential = find_credential(config, system.environ)
    if credential.trouble:
        fix = f"unlock the keyring, or `prime login --context {context.name}` again"
        return failed("key", credential.trouble, fix)
    if credential.key and sends_unencrypted(context.base_url or ""):
        sentence = f"The key for `{context.name}` is sent to {context.base_url} unencrypted"
        return warned("key", sentence, "use https://, or a network that you trust")
    if credential.key:
        return ok("key", f"The key for `{context.name}` is from {credential.source}")
    if context.base_url is None:
        return ok("key", "The embedded hub needs no key")
    fix = "`prime login`, or set PRIME_API_KEY; public environments need no key"
    return warned("key", f"No key for `{context.name}`", fix)


def _keyring(system: CheckContext) -> Finding:
    """Whether the keyring works: read a key that does not exist."""
    if reason := keyrings.unavailable_reason(system.environ):
        return ok("keyring", f"Keys are saved in a file: {reason}")
    try:
        keyrings.load_key(_NOBODY)
    except keyrings.NoKeyring as error:
        fix = "unlock or install a keyring; or do nothing, if a file (0600) is fine"
        return warned("keyring", f"Keys are saved in a file: {error}", fix)
    return ok("keyring", "The keyring works")


PODS_SECONDS = 3.0

"""Time limit for each of at most three requests."""

_MOST_PODS = 1000

_NAME = "pods"


def check_pods(system: CheckContext) -> list[Finding]:
    """The pods on the first page of the hub; nothing is changed."""
    config = system.config
    if config is None:
        return [skipped(_NAME, "Not checked: the settings cannot be read")]
    if system.offline:
        return [skipped(_NAME, "Not checked: prime is offline")]
    hub = _pods_client(system, config)
    if hub is None:
        return [ok(_NAME, "None is running: the embedded hub has not been used yet")]
    return [_check_pods(system, hub)]


def _check_pods(system: CheckContext, hub: HubClient) -> Finding:
    try:
        return _judge_pods(system, hub)
    except NotFound:
        return skipped(_NAME, f"{hub.host} has no pods")
    except NotAllowed:
        return skipped(_NAME, f"{hub.host} shows pods only to its users")
    except PrimeError as error:
        return skipped(_NAME, f"The hub did not answer: {error.message}")


def _pods_client(system: CheckContext, config: Config) -> HubClient | None:
    url = config.context.base_url
    if url is None:
        used = starters_are_published(system.home / "hub")
        return system.box() if used and system.box else None
    return HubClient(
        url,
        key=find_credential(config, system.environ).key,
        transport=system.transport,
        attempts=1,
        connect_seconds=PODS_SECONDS,
    )


def _judge_pods(system: CheckContext, hub: HubClient) -> Finding:
    page = hub.pods.page(limit=_MOST_PODS, seconds=PODS_SECONDS)
    running = [pod for pod in map(listed, page.data) if pod.runs]
    late = sum(_is_late(system, pod) for pod in running)
    leaks = hub.pods.sweep(dry_run=True, seconds=PODS_SECONDS).leaks if has_extensions(hub) else []
    count = "None is running"
    if running:
        count = f"{pluralize(len(running), 'pod')} running, at {hourly(hourly_price(running))}"
    if not leaks and not late:
        return ok(_NAME, count)
    # A leak may be a pod past its deadline, and some hubs report no leaks.
    orphaned = max(len(leaks), late)
    return warned(_NAME, f"{count}; {orphaned} orphaned or past the deadline", "`prime gc`")


def _is_late(system: CheckContext, pod: ListedPod) -> bool:
    deadline = moment(pod.stop_at)
    return deadline is not None and deadline < system.clock()
