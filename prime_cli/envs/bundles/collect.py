"""Fetch and build what a plan names, and put the members of a bundle together."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from prime_cli.core.errors import NotFound, ResolveFailed
from prime_cli.core.paths import home_path, make_folder, storage_errors
from prime_cli.envs.bundles.archive import Content, describe, write_bundle
from prime_cli.envs.bundles.artifacts import Artifact
from prime_cli.envs.bundles.manifest import SCHEMA, BundledEnvironment, BundleManifest
from prime_cli.envs.bundles.packages import build_sources, fetch_artifacts, lock_with_built_wheels
from prime_cli.envs.bundles.plan import BundleContext, BundlePlan, PlannedEnvironment
from prime_cli.envs.fetch import FetchedEnvironment
from prime_cli.envs.local_store import HubRecord
from prime_cli.envs.lookup import find_environment
from prime_cli.envs.pull import archive_digest
from prime_cli.runtime.pythons import choose_python
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import EnvironmentDetail
from prime_cli.wire.locks import Lock


@dataclass(frozen=True)
class CollectedBundle:
    """A bundle ready to be written."""

    manifest: BundleManifest
    contents: dict[str, Content] = field(default_factory=dict)


def make_bundle(plan: BundlePlan, context: BundleContext, target: Path) -> BundleManifest:
    """Gather what `plan` names, and write it to `target`, which appears when it is whole.

    Raises what `collect_bundle` and `write_bundle` raise.
    """
    with _scratch_folder(context.home) as scratch:
        gathered = collect_bundle(plan, context, Path(scratch))
        write_bundle(target, gathered.manifest, gathered.contents, context.progress)
    return gathered.manifest


def collect_bundle(plan: BundlePlan, context: BundleContext, scratch: Path) -> CollectedBundle:
    """Fetch and build what `plan` lacks; raises what that raises. `scratch` must stay till the end.

    Every digest is compared on the way, with the hub's and with the lock's.
    """
    files = fetch_artifacts(
        context.hub, (*plan.wheels, *plan.sources), context.home, context.progress
    )
    built = _build(plan, files, context)
    contents: dict[str, Content] = {}
    for artifact in plan.wheels:
        _add(contents, f"wheels/{artifact.filename}", files[artifact.sha256])
    for _, wheel in built:
        _add(contents, f"wheels/{wheel.name}", wheel)
    environments = []
    for part in plan.parts:
        bundled, own = _environment(
            part, lock_with_built_wheels(part.lock, built), plan, context, scratch
        )
        environments.append(bundled)
        contents |= own
    for data, inside in plan.data:
        contents |= {f"data/{data.name}/{name}": path for name, path in inside.items()}
    return CollectedBundle(
        BundleManifest(
            SCHEMA,
            plan.targets,
            tuple(sorted(environments, key=lambda each: each.ref)),
            tuple(describe(path, contents[path]) for path in sorted(contents)),
            tuple(data for data, _ in plan.data),
        ),
        contents,
    )


def _add(contents: dict[str, Content], name: str, path: Path) -> None:
    there = contents.setdefault(name, path)
    if there != path:
        raise ResolveFailed(
            f"Two different wheels are called {Path(name).name}",
            hint="bundle these environments one by one",
        )


def _build(
    plan: BundlePlan, files: Mapping[str, Path], context: BundleContext
) -> list[tuple[Artifact, Path]]:
    if not plan.sources:
        return []
    machines = plan.machines
    built = build_sources(
        [(each, files[each.sha256]) for each in plan.sources],
        machines,
        context.home,
        context.progress,
        python=choose_python(f"=={machines[0].target.python}.*"),
        offline=context.offline,
    )
    return [(each, built[each.sha256]) for each in plan.sources]


def _environment(
    part: PlannedEnvironment, lock: Lock, plan: BundlePlan, context: BundleContext, scratch: Path
) -> tuple[BundledEnvironment, dict[str, Content]]:
    fetched = part.fetched
    package = fetched.package
    wheel = f"{part.folder}/{package.path.name}"
    record = f"{part.folder}/record.json"
    contents: dict[str, Content] = {wheel: package.path, record: encode(_record(fetched, lock))}
    sources = _sources(fetched, context, scratch) if plan.with_sources else None
    inside = f"{part.folder}/sources.tar.gz" if sources else None
    if sources is not None and inside is not None:
        contents[inside] = sources
    bundled = BundledEnvironment(
        str(fetched.ref),
        wheel,
        record,
        package.sha256,
        lock.verifiers,
        len(lock.packages),
        inside,
        part.required,
    )
    return bundled, contents


def _record(fetched: FetchedEnvironment, lock: Lock) -> HubRecord:
    """What does not change from one day to the next: no URLs, no counts, no time of locking."""
    detail, package = fetched.detail, fetched.package
    kept = EnvironmentDetail(
        id=detail.id,
        name=detail.name,
        owner=detail.owner,
        visibility=detail.visibility,
        semantic_version=fetched.ref.version,
        content_hash=detail.content_hash,
        sha256=detail.sha256,
        metadata=detail.metadata,
        wheel_sha256=package.sha256,
        wheel_filename=package.path.name,
        wheel_size=detail.wheel_size,
    )
    published = package.published.isoformat() if package.published else None
    locked = replace(lock, made_at=None)
    return HubRecord(kept, published, locked, fetched.pyproject, fetched.signatures)


def _sources(fetched: FetchedEnvironment, context: BundleContext, scratch: Path) -> Path | None:
    """The source archive of an environment; None where its hub has none, or cannot be asked."""
    try:
        found = find_environment(
            context.hub, fetched.ref, home=context.home, progress=context.progress,
            offline=context.offline,
        )  # fmt: skip
    except NotFound:
        return None
    url = found.detail.tracked_package_url or found.detail.package_url
    if url is None:
        return None
    target = scratch / f"{fetched.package.sha256}.tar.gz"
    digest = archive_digest(found.detail)
    found.hub.environments.download(url, target, sha256=digest, progress=context.progress)
    return target


def _scratch_folder(home: Path) -> "tempfile.TemporaryDirectory[str]":
    """A folder for what is fetched only for this bundle; raises StorageFailed."""
    scratch = make_folder(home_path(home, "cache") / "downloads")
    with storage_errors(scratch):
        return tempfile.TemporaryDirectory(dir=scratch)
