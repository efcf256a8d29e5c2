"""From the operator's choices to a hub that runs: look at everything first, then serve."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.local.limits import what_is_held
from prime_cli.hub.compute.local.served import prepare_ground
from prime_cli.hub.compute.sky.installation import find_python
from prime_cli.hub.opening import open_hub
from prime_cli.hub.serving.first_start import make_admin
from prime_cli.hub.serving.listening import check_certificate, reserve_port
from prime_cli.hub.serving.options import ServeOptions
from prime_cli.hub.serving.proxies import read_networks
from prime_cli.hub.serving.server import serve


@dataclass(frozen=True)
class Started:
    """A hub that is about to answer; `admin_key` only when its admin was just made.

    `pods_held` is what pods on its machine are held to (`cpu`, `memory`, `pids`), None where it
    gives none.
    """

    url: str
    place: str
    admin_key: str | None
    pods_held: frozenset[str] | None = None


def run(options: ServeOptions, announce: Callable[[Started], None]) -> None:
    """Serve until told to stop; `announce` is called once nothing can be in the way any more.

    Raises UsageError for providers that are not safe together, and what `check_certificate`,
    `read_networks`, `prepare_ground`, `find_python`, `reserve_port`, `open_hub` and `make_admin`
    raise.
    """
    check_certificate(options)
    read_networks(options.trusted_proxies)
    if options.local_pods and options.sky is not None:
        raise UsageError(
            "SkyPilot's server listens on loopback and does all that is asked of it there, which "
            "users of pods on this machine could do too",
            hint="serve `--sky` and `--local-pods` on two machines",
        )
    if options.local_pods:
        prepare_ground(options.pods_folder, options.pods_host)
    if options.sky is not None:
        find_python(options.sky)
    with reserve_port(options.host, options.port) as port:
        options = replace(options, port=port)
        hub = open_hub(options.settings())
        key = make_admin(hub, options.admin)
        # The processes that serve open their own.
        hub.database.engine.dispose()
        held = what_is_held() if options.local_pods else None
        started = Started(options.url, hub.database.name, key, held)
        serve(options, lambda: announce(started))
