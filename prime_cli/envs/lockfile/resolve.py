"""`env lock`: from what a workspace wants to exact versions and digests."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.fetch import FetchedEnvironment, fetch_wheel
from prime_cli.envs.install.dependencies import OpenHub, fetch_dependencies
from prime_cli.envs.install.installed import InstalledEnvironment, parse_requirements
from prime_cli.envs.lockfile.file import (
    ENVIRONMENTS_KEY,
    FILENAME,
    EnvironmentLock,
    LockedEnvironment,
    LockLocation,
    make_lock,
)
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project.folder import find_local
from prime_cli.envs.project.pyproject import FILENAME as PYPROJECT


@dataclass(frozen=True)
class LockOptions:
    """The options of a lock: `named` are added or looked up again, `removed` dropped.

    `upgrade` looks everything up again. `installed` is in the workspace, and is locked if nothing
    else is named.
    """

    named: Sequence[EnvRef] = ()
    removed: Sequence[str] = ()
    upgrade: bool = False
    installed: Sequence[InstalledEnvironment] = ()


@dataclass(frozen=True)
class LockRequest:
    """One environment: `asked` is kept in the lock, `now` this version; `anew` even if it is
    locked.
    """

    asked: EnvRef
    now: EnvRef
    anew: bool = False


def list_requests(place: LockLocation, options: LockOptions) -> tuple[LockRequest, ...]:
    """Everything that the new lock is to hold.

    Raises UsageError where the options contradict pyproject.toml or there is nothing to lock,
    NotFound for a removal of what is not locked, Conflict for two environments of one name.
    """
    if place.wanted is not None:
        _check_against_list(place, options)
        asked = list(place.wanted)
    else:
        asked = list(_as_before(place, options))
    wants = tuple(_want(ref, options) for ref in asked) or tuple(_of_workspace(options))
    if not wants and place.wanted is None and not options.removed:
        raise UsageError(
            "There is nothing to lock",
            hint="pass an environment, as in `prime env lock starter/alphabet-sort`",
        )
    _refuse_namesakes([want.asked for want in wants])
    return wants


def find_same(ref: EnvRef, among: Iterable[EnvRef]) -> EnvRef | None:
    """The one of `among` that names the same environment."""
    return next((each for each in among if each.is_same(ref)), None)


def name_conflict(one: EnvRef, other: EnvRef) -> Conflict:
    """The refusal of two environments of one name."""
    return Conflict(
        f"{one.slug} and {other.slug} have the same package name, so they cannot share a workspace",
        hint="lock one of them here, and the other in another folder",
    )


def _want(asked: EnvRef, options: LockOptions) -> LockRequest:
    named = find_same(asked, options.named)
    now = named if named is not None and named.version else asked
    return LockRequest(asked, now, anew=options.upgrade or named is not None)


def _of_workspace(options: LockOptions) -> Iterator[LockRequest]:
    """The very bytes that were installed from a hub, free to be upgraded later."""
    if options.removed or options.named:
        return
    for each in options.installed:
        origin = each.origin
        if origin is not None and origin.ref is not None:
            ref = EnvRef.parse(origin.ref)
            now = ref if options.upgrade else replace(ref, sha256=origin.sha256)
            yield LockRequest(ref.at(None), ref.at(None) if options.upgrade else now, anew=True)


def _as_before(place: LockLocation, options: LockOptions) -> Iterator[EnvRef]:
    before = [EnvRef.parse(each.asked) for each in place.current.environments if each.asked]
    for word in options.removed:
        if not any(_is_called(ref, word) for ref in before):
            raise NotFound(
                f"`{word}` is not in {FILENAME}",
                hint="list what is with `prime env outdated --all`",
            )
    for ref in before:
        if find_same(ref, options.named) is None and not any(
            _is_called(ref, word) for word in options.removed
        ):
            yield ref
    yield from dict.fromkeys(options.named)


def _check_against_list(place: LockLocation, options: LockOptions) -> None:
    file = place.folder / PYPROJECT
    then = f"in `{ENVIRONMENTS_KEY}` of [tool.prime] there, then run `prime env lock`"
    if options.removed:
        raise UsageError(f"The environments to lock are listed in {file}", hint=f"remove it {then}")
    for ref in options.named:
        listed = find_same(ref, place.wanted or ())
        if listed is None:
            raise UsageError(f"{ref.slug} is not listed in {file}", hint=f'add "{ref}" {then}')
        if listed.version and ref.version not in (None, listed.version):
            raise UsageError(f"{file} lists {listed}, not {ref}", hint=f"change it {then}")


def _is_called(ref: EnvRef, word: str) -> bool:
    owner, slash, name = word.rpartition("/")
    return normalize_name(name) == normalize_name(ref.name) and (not slash or owner == ref.owner)


def _refuse_namesakes(wanted: Sequence[EnvRef]) -> None:
    seen: dict[str, EnvRef] = {}
    for ref in wanted:
        other = seen.setdefault(normalize_name(ref.name), ref)
        if not other.is_same(ref):
            raise name_conflict(other, ref)


def resolve_references(
    words: Sequence[str], hub: OpenHub, here: Path, progress: Progress
) -> tuple[EnvRef, ...]:
    """What `words` name on the hub; raises UsageError for what is on this disk, and as names do."""
    return tuple(_resolve(word, hub, here, progress) for word in words)


def resolve_lock(
    place: LockLocation,
    options: LockOptions,
    hub: OpenHub,
    progress: Progress,
    *,
    offline: bool = False,
) -> EnvironmentLock:
    """The new lock of `place`. What need not change keeps its version, and no hub is asked of it.

    Wheels are fetched and read; none of their code is run. Raises UsageError, NotFound and Conflict
    as `list_requests` does, and what fetching raises.
    """
    wants = list_requests(place, options)
    entries: dict[str, LockedEnvironment] = {}
    for want in wants:
        kept = () if want.anew else kept_entries(want.asked, place.current)
        for entry in kept or _look_up(want, wants, hub, progress, offline=offline):
            _add(entries, entry)
    return make_lock(entries.values())


def kept_entries(asked: EnvRef, lock: EnvironmentLock) -> tuple[LockedEnvironment, ...]:
    """The entry of `asked` and those that it needs, as they are; none where it has to change."""
    entry = lock.find(asked)
    if entry is None or not satisfies(asked, entry):
        return ()
    slug = entry.env_ref.slug
    needed = (each for each in lock.environments if slug in each.needed_by)
    own = msgspec.structs.replace(entry, asked=asked.with_extras, needed_by=())
    return (own, *(msgspec.structs.replace(each, needed_by=(slug,)) for each in needed))


def satisfies(asked: EnvRef, entry: LockedEnvironment) -> bool:
    """Whether `entry` is what `asked` asks for."""
    if entry.asked is None or asked.extras != entry.extras:
        return False
    if asked.sha256 not in (None, entry.sha256):
        return False
    return asked.version in (None, entry.env_ref.version)


def _resolve(word: str, hub: OpenHub, here: Path, progress: Progress) -> EnvRef:
    if find_local(word, here) is not None:
        raise UsageError(
            f"`{word}` is on this disk; only published environments can be locked",
            hint="publish it with `prime env upload`, or write `owner/name`",
        )
    return EnvRef.parse(word) if "/" in word else resolve_name(hub(), word, progress=progress)


def _look_up(
    want: LockRequest,
    wants: Sequence[LockRequest],
    hub: OpenHub,
    progress: Progress,
    *,
    offline: bool,
) -> Iterator[LockedEnvironment]:
    """The entry of what is wanted, then those of the same owner's environments that it needs."""
    fetched = fetch_wheel(hub(), want.now, progress=progress, offline=offline)
    yield _entry(fetched, asked=want.asked.with_extras)
    wanted = {normalize_name(each.asked.name) for each in wants}
    needs = parse_requirements(fetched.package.facts.requires_dist)
    needs = [need for need in needs if normalize_name(need.name) not in wanted]
    owner = fetched.ref.owner
    wheels = (fetched.package.sha256,)
    for needed in fetch_dependencies(
        owner, needs, hub=hub, progress=progress, offline=offline, wheels=wheels
    ):
        if normalize_name(needed.ref.name) not in wanted:
            yield _entry(needed, needed_by=(fetched.ref.slug,))


def _entry(
    fetched: FetchedEnvironment, *, asked: str | None = None, needed_by: tuple[str, ...] = ()
) -> LockedEnvironment:
    package = fetched.package
    ref = fetched.ref if fetched.ref.version else fetched.ref.at(package.facts.version)
    return LockedEnvironment(
        ref=str(ref),
        wheel=package.path.name,
        sha256=package.sha256,
        content_hash=fetched.detail.content_hash,
        asked=asked,
        needed_by=needed_by,
    )


def _add(entries: dict[str, LockedEnvironment], entry: LockedEnvironment) -> None:
    """Put `entry` among the others; one that several need has all of them in `needed_by`."""
    present = entries.setdefault(entry.key, entry)
    if not present.env_ref.is_same(entry.env_ref):
        raise name_conflict(present.env_ref, entry.env_ref)
    needed_by = tuple(sorted({*present.needed_by, *entry.needed_by}))
    entries[entry.key] = msgspec.structs.replace(entry, needed_by=needed_by)
