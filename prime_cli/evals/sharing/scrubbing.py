"""Secrets of today are taken out once more before anything leaves this machine."""

from collections.abc import Mapping

from prime_cli.models.endpoints import Endpoint
from prime_cli.runs.known_secrets import secrets_of
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.scrubber import Scrubber


def scrubber_for(run: SavedRun, environ: Mapping[str, str], hub_key: str | None) -> Scrubber:
    """Replaces the keys that `environ` holds, those that the run's environment could read, and
    the hub's own.

    What was written down was scrubbed already, with the keys that were known then.
    """
    named = run.manifest.plan.env_vars if run.manifest is not None else ()
    passed = {name: environ[name] for name in named if name in environ}
    secrets = secrets_of(Endpoint("", builtin=True), environ, passed)
    return Scrubber(secrets | ({"PRIME_API_KEY": hub_key} if hub_key else {}))
