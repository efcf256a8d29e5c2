"""`env lock`: from what a workspace wants to exact versions and digests."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from prime_cli.core.errors import UsageError
from prime_cli.core.progress import Progress
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.fetch import FetchedEnvironment, fetch_wheel
from prime_cli.envs.installed import parse_requirements
from prime_cli.envs.local import find_local
from prime_cli.envs.locking.file import EnvironmentLock, LockedEnvironment, make_lock
from prime_cli.envs.locking.place import LockPlace
from prime_cli.envs.locking.wants import LockOrder, Want, list_wants, namesakes
from prime_cli.envs.names import resolve_name
from prime_cli.envs.owned import OpenHub, fetch_owned


def resolve_words(
    words: Sequence[str], hub: OpenHub, here: Path, progress: Progress
) -> tuple[EnvRef, ...]:
    """What `words` name on the hub; raises UsageError for what is on this disk, and as names do."""
    return tuple(_resolve(word, hub, here, progress) for word in words)


def resolve_lock(
    place: LockPlace, order: LockOrder, hub: OpenHub, progress: Progress, *, offline: bool = False
) -> EnvironmentLock:
    """The new lock of `place`. What need not change keeps its version, and no hub is asked of it.

    Wheels are fetched and read; none of their code is run. Raises UsageError, NotFound and Conflict
    as `list_wants` does, and what fetching raises.
    """
    wants = list_wants(place, order)
    entries: dict[str, LockedEnvironment] = {}
    for want in wants:
        kept = () if want.anew else kept_entries(want.asked, place.current)
        for entry in kept or _look_up(want, wants, hub, progress, offline=offline):
            _add(entries, entry)
    return make_lock(entries.values())


def kept_entries(asked: EnvRef, lock: EnvironmentLock) -> tuple[LockedEnvironment, ...]:
    """The entry of `asked` and those that it needs, as they are; none where it has to change."""
    entry = lock.find(asked)
    if entry is None or not is_locked_as(asked, entry):
        return ()
    slug = entry.env_ref.slug
    needed = (each for each in lock.environments if slug in each.needed_by)
    own = replace(entry, asked=str(asked), needed_by=())
    return (own, *(replace(each, needed_by=(slug,)) for each in needed))


def is_locked_as(asked: EnvRef, entry: LockedEnvironment) -> bool:
    """Whether `entry` is what `asked` asks for."""
    if entry.asked is None or asked.sha256 not in (None, entry.sha256):
        return False
    return asked.version in (None, entry.env_ref.version)


def _resolve(word: str, hub: OpenHub, here: Path, progress: Progress) -> EnvRef:
    if find_local(word, here) is not None:
        raise UsageError(
            f"`{word}` is on this disk, and a lock holds published environments",
            hint="publish it with `prime env upload`, or write `owner/name`",
        )
    return EnvRef.parse(word) if "/" in word else resolve_name(hub(), word, progress=progress)


def _look_up(
    want: Want, wants: Sequence[Want], hub: OpenHub, progress: Progress, *, offline: bool
) -> Iterator[LockedEnvironment]:
    """The entry of what is wanted, then those of the same owner's environments that it needs."""
    fetched = fetch_wheel(hub(), want.now, progress=progress, offline=offline)
    yield _entry(fetched, asked=str(want.asked))
    wanted = {normalize_name(each.asked.name) for each in wants}
    needs = parse_requirements(fetched.package.facts.requires_dist)
    needs = [need for need in needs if normalize_name(need.name) not in wanted]
    owner = fetched.ref.owner
    wheels = (fetched.package.sha256,)
    for needed in fetch_owned(
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
        raise namesakes(present.env_ref, entry.env_ref)
    needed_by = tuple(sorted({*present.needed_by, *entry.needed_by}))
    entries[entry.key] = replace(entry, needed_by=needed_by)
