"""`env delete`: an environment with all its versions, or one version of it."""

from dataclasses import dataclass

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.envs.names import suggest


@dataclass(frozen=True)
class Deletion:
    """What is to go: one version when `content_hash` is set, else everything in `versions`."""

    ref: EnvRef
    versions: tuple[str, ...]
    content_hash: str | None = None


def plan_deletion(hub: HubClient, ref: EnvRef) -> Deletion:
    """Look up what `ref` names, without its upstream; raises NotFound."""
    try:
        rows = hub.environments.versions(ref)
    except NotFound as missing:
        raise NotFound(
            f"There is no environment `{ref.slug}`", hint=suggest(hub, ref.slug) or missing.hint
        ) from missing
    if ref.version is None:
        return Deletion(ref, tuple(row.version for row in rows))
    for row in rows:
        if row.version == ref.version or _is_hash(row.sha256, ref.version):
            return Deletion(ref.at(row.version), (row.version,), row.sha256)
    raise NotFound(
        f"{ref.slug} has no version {ref.version}",
        hint=f"see its versions with `prime env versions {ref.slug}`",
    )


def run_deletion(hub: HubClient, plan: Deletion) -> None:
    """Delete what was planned; raises NotAllowed for what belongs to another owner."""
    if plan.content_hash is None:
        hub.environments.delete(plan.ref)
    else:
        hub.environments.delete_version(plan.ref, plan.content_hash)


def _is_hash(content_hash: str, text: str) -> bool:
    """Whether `text` is the content hash or its beginning, as the official client takes it."""
    shortest = 8
    return len(text) >= shortest and content_hash.startswith(text.lower())
