"""The current hub, its clock, the key for it, and the pods that run there."""

from datetime import timedelta

from prime_cli.accounts.addresses import sends_unencrypted
from prime_cli.api.client import HubClient
from prime_cli.api.probe import ProbeResult, probe
from prime_cli.core.config import Config
from prime_cli.core.credentials import find_credential, keyrings
from prime_cli.core.errors import NotAllowed, NotFound, PrimeError, Unreachable, UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.doctor.base import Finding, System, failed, ok, skipped, warned
from prime_cli.envs.starters import starters_are_published
from prime_cli.pods.formatting import hourly, moment
from prime_cli.pods.listing import ListedPod, hourly_price, listed
from prime_cli.pods.lookup import has_extensions

SECONDS = 3.0

"""How long a hub may take: one that is up answers this in a fraction of it."""

NOTICED = timedelta(minutes=1)

"""Beyond it "the newest" and "as of that day" may mean something else here than there."""

REFUSED = timedelta(minutes=15)

"""Beyond it buckets refuse signed addresses (RequestTimeTooSkewed of S3)."""

_CLOCK = "clock"

_FIX_CLOCK = "let the system set its clock (NTP), such as `timedatectl set-ntp true`"


def check_hub(system: System) -> list[Finding]:
    """One request to the hub of the context, or to the upstream of the one in the box."""
    config = system.config
    if config is None:
        return [skipped("hub", "Not asked: the settings cannot be read")]
    own = config.context.base_url
    url = own or config.upstream
    if url is None:
        return [
            ok("hub", "In this process, with no other hub to ask"),
            skipped(_CLOCK, "There is no hub to compare with"),
        ]
    if system.offline:
        return [skipped(name, "Not asked: prime is offline") for name in ("hub", _CLOCK)]
    try:
        answered = probe(url, key=_key_for(config), transport=system.transport, seconds=SECONDS)
    except (Unreachable, UsageError) as error:
        return [_unreachable(error, config), skipped(_CLOCK, "No hub told the time")]
    return [_judge(answered, url, config), judge_clock(answered, system)]


def judge_clock(answered: ProbeResult, system: System) -> Finding:
    """How far this clock is from the hub's, which tells whole seconds."""
    if answered.date is None:
        return skipped(_CLOCK, "The hub did not tell the time")
    # It wrote its date at some moment between the question and the answer.
    middle = system.clock() - timedelta(seconds=answered.seconds / 2)
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


def _key_for(config: Config) -> str | None:
    try:
        return find_credential(config).key
    except PrimeError:
        return None  # told by the check of the key


def _span(apart: timedelta) -> str:
    seconds = apart.total_seconds()
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"  # noqa: PLR2004


_NOBODY = "prime doctor"

"""An account that no key is kept under."""


def check_key(system: System) -> list[Finding]:
    """One finding for the key, one for the keyring."""
    if system.config is None:
        return [skipped("key", "Not looked for: the settings cannot be read"), _keyring(system)]
    return [_key(system, system.config), _keyring(system)]


def _key(system: System, config: Config) -> Finding:
    context = config.context
    credential = find_credential(config, system.environ)
    if credential.trouble:
        fix = f"unlock the keyring, or `prime login --context {context.name}` again"
        return failed("key", credential.trouble, fix)
    if credential.key and sends_unencrypted(context.base_url or ""):
        told = f"The key for `{context.name}` goes to {context.base_url} unencrypted"
        return warned("key", told, "name the hub by https://, or keep to a network you trust")
    if credential.key:
        return ok("key", f"A key for `{context.name}` comes from {credential.source}")
    if context.base_url is None:
        return ok("key", "The hub in this process needs none")
    fix = "`prime login`, or set PRIME_API_KEY; public environments need none"
    return warned("key", f"There is none for `{context.name}`", fix)


def _keyring(system: System) -> Finding:
    """Whether keys would be kept in one: it is asked for a key that nobody has."""
    if reason := keyrings.unavailable_reason(system.environ):
        return ok("keyring", f"Keys are kept in a file: {reason}")
    try:
        keyrings.load_key(_NOBODY)
    except keyrings.NoKeyring as error:
        fix = "nothing, if a file (0600) will do; else unlock or install one"
        return warned("keyring", f"Keys are kept in a file: {error}", fix)
    return ok("keyring", "It answers")


PODS_SECONDS = 3.0

"""How long each answer may take; there are three of them at most."""

_MOST_PODS = 1000

_NAME = "pods"


def check_pods(system: System) -> list[Finding]:
    """The pods of the current hub, as far as its first page goes; nothing is started or ended."""
    config = system.config
    if config is None:
        return [skipped(_NAME, "Not asked: the settings cannot be read")]
    if system.offline:
        return [skipped(_NAME, "Not asked: prime is offline")]
    hub = _pods_client(system, config)
    if hub is None:
        return [ok(_NAME, "None runs: the hub in this process was not used yet")]
    return [_ask(system, hub)]


def _ask(system: System, hub: HubClient) -> Finding:
    try:
        return _judge_pods(system, hub)
    except NotFound:
        return skipped(_NAME, f"{hub.host} rents no machines")
    except NotAllowed:
        return skipped(_NAME, f"{hub.host} tells them to its users alone")
    except PrimeError as error:
        return skipped(_NAME, f"The hub did not say: {error.message}")


def _pods_client(system: System, config: Config) -> HubClient | None:
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


def _judge_pods(system: System, hub: HubClient) -> Finding:
    page = hub.pods.page(limit=_MOST_PODS, seconds=PODS_SECONDS)
    running = [pod for pod in map(listed, page.data) if pod.runs]
    late = sum(_is_late(system, pod) for pod in running)
    leaks = hub.pods.sweep(dry_run=True, seconds=PODS_SECONDS).leaks if has_extensions(hub) else []
    told = "None runs"
    if running:
        verb = "runs" if len(running) == 1 else "run"
        told = f"{pluralize(len(running), 'pod')} {verb}, at {hourly(hourly_price(running))}"
    if not leaks and not late:
        return ok(_NAME, told)
    # A leak may be a pod past its deadline, and hubs that cannot be swept tell none.
    without_need = max(len(leaks), late)
    needs = "is" if without_need == 1 else "are"
    return warned(_NAME, f"{told}; {without_need} {needs} there without need", "`prime gc`")


def _is_late(system: System, pod: ListedPod) -> bool:
    deadline = moment(pod.stop_at)
    return deadline is not None and deadline < system.clock()
