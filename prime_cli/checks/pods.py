"""Which pods run now, what they cost, and what of it nobody needs."""

from prime_cli.api.client import HubClient
from prime_cli.checks.findings import Finding, ok, skipped, warned
from prime_cli.checks.place import Place
from prime_cli.core.config import Config
from prime_cli.core.credentials import find_credential
from prime_cli.core.errors import NotAllowed, NotFound, PrimeError
from prime_cli.core.formatting import pluralize
from prime_cli.envs.starters import starters_are_published
from prime_cli.pods.extensions import has_extensions
from prime_cli.pods.listing import ListedPod, hourly_price, listed, moment
from prime_cli.pods.prices import hourly

SECONDS = 3.0
"""How long each answer may take; there are three of them at most."""
_MOST_PODS = 1000
_NAME = "pods"


def examine(place: Place) -> list[Finding]:
    """The pods of the current hub, as far as its first page goes; nothing is started or ended."""
    config = place.config
    if config is None:
        return [skipped(_NAME, "Not asked: the settings cannot be read")]
    if place.offline:
        return [skipped(_NAME, "Not asked: prime is offline")]
    hub = _hub(place, config)
    if hub is None:
        return [ok(_NAME, "None runs: the hub in this process was not used yet")]
    return [_ask(place, hub)]


def _ask(place: Place, hub: HubClient) -> Finding:
    try:
        return _judge(place, hub)
    except NotFound:
        return skipped(_NAME, f"{hub.host} rents no machines")
    except NotAllowed:
        return skipped(_NAME, f"{hub.host} tells them to its users alone")
    except PrimeError as error:
        return skipped(_NAME, f"The hub did not say: {error.message}")


def _hub(place: Place, config: Config) -> HubClient | None:
    url = config.context.base_url
    if url is None:
        used = starters_are_published(place.home / "hub")
        return place.box() if used and place.box else None
    return HubClient(
        url,
        key=find_credential(config, place.environ).key,
        transport=place.transport,
        attempts=1,
        connect_seconds=SECONDS,
    )


def _judge(place: Place, hub: HubClient) -> Finding:
    page = hub.pods.page(limit=_MOST_PODS, seconds=SECONDS)
    running = [pod for pod in map(listed, page.data) if pod.runs]
    late = sum(_is_late(place, pod) for pod in running)
    leaks = hub.pods.sweep(dry_run=True, seconds=SECONDS).leaks if has_extensions(hub) else []
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


def _is_late(place: Place, pod: ListedPod) -> bool:
    deadline = moment(pod.stop_at)
    return deadline is not None and deadline < place.clock()
