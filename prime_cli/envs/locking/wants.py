"""What a workspace wants locked: as pyproject.toml lists it, else as before and as named now."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.envs.installed import InstalledEnvironment
from prime_cli.envs.locking.file import FILENAME
from prime_cli.envs.locking.place import WANTED, LockPlace
from prime_cli.envs.pyproject import FILENAME as PYPROJECT


@dataclass(frozen=True)
class LockOrder:
    """What is asked of a lock: `named` are looked up anew or added, `removed` dropped.

    `upgrade` looks everything up anew. `installed` is what the workspace has, which is locked where
    nothing else says what is wanted.
    """

    named: Sequence[EnvRef] = ()
    removed: Sequence[str] = ()
    upgrade: bool = False
    installed: Sequence[InstalledEnvironment] = ()


@dataclass(frozen=True)
class Want:
    """One environment: `asked` for good, `now` in this version; `anew` even if it is locked."""

    asked: EnvRef
    now: EnvRef
    anew: bool = False


def list_wants(place: LockPlace, order: LockOrder) -> tuple[Want, ...]:
    """Everything that the new lock is to hold.

    Raises UsageError where the order contradicts pyproject.toml or there is nothing to lock,
    NotFound for a removal of what is not locked, Conflict for two environments of one name.
    """
    if place.wanted is not None:
        _check_against_list(place, order)
        asked = list(place.wanted)
    else:
        asked = list(_as_before(place, order))
    wants = tuple(_want(ref, order) for ref in asked) or tuple(_of_workspace(order))
    if not wants and place.wanted is None and not order.removed:
        raise UsageError(
            "There is nothing to lock",
            hint="name an environment, as in `prime env lock starter/alphabet-sort`",
        )
    _refuse_namesakes([want.asked for want in wants])
    return wants


def find_same(ref: EnvRef, among: Iterable[EnvRef]) -> EnvRef | None:
    """The one of `among` that names the same environment."""
    return next((each for each in among if each.is_same(ref)), None)


def namesakes(one: EnvRef, other: EnvRef) -> Conflict:
    """The refusal of two environments of one name."""
    return Conflict(
        f"{one.slug} and {other.slug} have the same package name, and a workspace holds one",
        hint="lock one of them here, and the other one in a folder of its own",
    )


def _want(asked: EnvRef, order: LockOrder) -> Want:
    named = find_same(asked, order.named)
    now = named if named is not None and named.version else asked
    return Want(asked, now, anew=order.upgrade or named is not None)


def _of_workspace(order: LockOrder) -> Iterator[Want]:
    """The very bytes that were installed from a hub, free to be upgraded later."""
    if order.removed or order.named:
        return
    for each in order.installed:
        origin = each.origin
        if origin is not None and origin.ref is not None:
            ref = EnvRef.parse(origin.ref)
            now = ref if order.upgrade else replace(ref, sha256=origin.sha256)
            yield Want(ref.at(None), ref.at(None) if order.upgrade else now, anew=True)


def _as_before(place: LockPlace, order: LockOrder) -> Iterator[EnvRef]:
    before = [EnvRef.parse(each.asked) for each in place.current.environments if each.asked]
    for word in order.removed:
        if not any(_is_called(ref, word) for ref in before):
            raise NotFound(
                f"`{word}` is not in {FILENAME}", hint="see what is with `prime env outdated --all`"
            )
    for ref in before:
        if find_same(ref, order.named) is None and not any(
            _is_called(ref, word) for word in order.removed
        ):
            yield ref
    yield from dict.fromkeys(order.named)


def _check_against_list(place: LockPlace, order: LockOrder) -> None:
    file = place.folder / PYPROJECT
    then = f"in `{WANTED}` of [tool.prime] there, then run `prime env lock`"
    if order.removed:
        raise UsageError(f"What is wanted is listed in {file}", hint=f"take it out {then}")
    for ref in order.named:
        listed = find_same(ref, place.wanted or ())
        if listed is None:
            raise UsageError(
                f"{ref.slug} is not among the environments of {file}", hint=f'add "{ref}" {then}'
            )
        if listed.version and ref.version not in (None, listed.version):
            raise UsageError(f"{file} wants {listed}, not {ref}", hint=f"change it {then}")


def _is_called(ref: EnvRef, word: str) -> bool:
    owner, slash, name = word.rpartition("/")
    return normalize_name(name) == normalize_name(ref.name) and (not slash or owner == ref.owner)


def _refuse_namesakes(wanted: Sequence[EnvRef]) -> None:
    seen: dict[str, EnvRef] = {}
    for ref in wanted:
        other = seen.setdefault(normalize_name(ref.name), ref)
        if not other.is_same(ref):
            raise namesakes(other, ref)
