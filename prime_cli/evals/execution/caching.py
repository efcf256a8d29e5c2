"""Where the answers of a run with `--cache` are kept."""

from prime_cli.core.paths import prime_home
from prime_cli.models.gateway.response_cache import ResponseStore
from prime_cli.runs.scrubber import Scrubber


def open_cache(scrub: Scrubber) -> ResponseStore:
    """`cache/responses` in PRIME_HOME; raises StorageFailed where it cannot be made."""
    store = ResponseStore(prime_home() / "cache" / "responses", scrub)
    store.open()
    return store
