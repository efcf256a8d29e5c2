"""The programs that install into a workspace, `uv` and `pip`, as values: words, and moves read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from prime_cli.core.errors import PrimeError, ResolveFailed
from prime_cli.core.process import Completed, child_environment, run
from prime_cli.core.refs import normalize_name
from prime_cli.envs.workspace import Workspace
from prime_cli.runtime.uv_tool import network_failure, run_uv

_MOVE = re.compile(r"^\s*([+~-]) ([A-Za-z0-9._-]+)(?:==(\S+)| @ (\S+))?", re.MULTILINE)
_NO_PIP = "No module named pip"


class Tool(StrEnum):
    """Who installs."""

    UV = "uv"
    PIP = "pip"


@dataclass(frozen=True)
class Move:
    """A package that an installation changes: `before` or `after` is None where it is absent."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Order:
    """One installation: wheels and editable folders into a workspace.

    `complete` means that nothing else is needed, so that no index has to be asked; `again` are
    packages to be installed even if their version is there; `limits` are requirements that hold
    packages back, such as `verifiers<=0.3.1`; `find_links` are folders of wheels, and with
    `no_index` they stand for all indexes.
    """

    workspace: Workspace
    wheels: tuple[Path, ...] = ()
    editable: tuple[Path, ...] = ()
    again: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    complete: bool = False
    prerelease: bool = False
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    tool: Tool = Tool.UV


def install(order: Order, *, offline: bool) -> None:
    """Install; raises ResolveFailed with the installer's last lines, Unreachable or Offline."""
    completed = _run(order, [], offline=offline)
    if not completed.ok:
        raise _failure(completed, order, offline=offline)


def preview(order: Order, *, offline: bool) -> tuple[Move, ...]:
    """What `install` would change; pip only tells what it would add."""
    completed = _run(order, ["--dry-run"], offline=offline)
    if not completed.ok:
        raise _failure(completed, order, offline=offline)
    if order.tool is Tool.PIP:
        return _read_pip(completed.out)
    return read_moves(completed.err)


def uninstall(workspace: Workspace, names: Sequence[str], tool: Tool = Tool.UV) -> None:
    """Remove packages by name; raises ResolveFailed."""
    if tool is Tool.PIP:
        completed = _run_pip(workspace, ["uninstall", "--quiet", "--yes", *names])
    else:
        words = ["pip", "uninstall", "--quiet", "--python", str(workspace.python), *names]
        completed = run_uv(words, offline=True)
    if not completed.ok:
        raise _no_pip(completed) or ResolveFailed(
            f"{tool} could not uninstall",
            hint="see above what stands in its way, then run the same command again",
            detail=completed.last_lines(),
        )


def read_moves(text: str) -> tuple[Move, ...]:
    """The lines ` + name==1.0` and ` - name==0.9` that uv writes, put together by name."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for sign, name, version, url in _MOVE.findall(text):
        side = before if sign == "-" else after
        side[normalize_name(name)] = version or url
    return tuple(
        Move(name, before.get(name), after.get(name)) for name in sorted({*before, *after})
    )


def _run(order: Order, flags: Sequence[str], *, offline: bool) -> Completed:
    targets = [*(str(wheel) for wheel in order.wheels), *order.limits]
    for folder in order.editable:
        targets += ["--editable", str(folder)]
    if order.tool is Tool.PIP:
        pre = ["--pre"] if order.prerelease else []
        words = ["install", *(flags or ["--quiet"]), *pre, *_places(order)]
        if order.complete:
            words += ["--no-deps", "--no-index"]
        again = ["--force-reinstall", "--no-deps"] if order.again and order.complete else []
        return _run_pip(order.workspace, [*words, *again, *targets])
    return run_uv(
        ["pip", "install", "--python", order.workspace.python, *_uv_words(order), *flags, *targets],
        offline=offline or order.complete,
    )


def _run_pip(workspace: Workspace, words: Sequence[str]) -> Completed:
    env = child_environment(installs=True)
    return run([workspace.python, "-m", "pip", *words], env=env)


def _uv_words(order: Order) -> list[str]:
    words = ["--no-deps"] if order.complete else []
    for name in order.again:
        words += ["--reinstall-package", name]
    words += _places(order)
    if order.prerelease:
        words += ["--prerelease", "allow"]
    return words


def _places(order: Order) -> list[str]:
    """Where packages are taken from, in the words of both uv and pip."""
    links = [word for folder in order.find_links for word in ("--find-links", folder)]
    return ["--no-index", *links] if order.no_index else links


def _read_pip(text: str) -> tuple[Move, ...]:
    found = re.search(r"^Would install (.+)$", text, re.MULTILINE)
    pairs = [word.rpartition("-") for word in found[1].split()] if found else []
    return tuple(Move(normalize_name(name), None, version) for name, _, version in pairs)


def _failure(completed: Completed, order: Order, *, offline: bool) -> PrimeError:
    return (
        _no_pip(completed)
        or network_failure(completed, offline=offline)
        or ResolveFailed(
            f"{order.tool} could not install into "
            f"{order.workspace.folder or order.workspace.python}",
            hint="see what stands in the way above; `prime eval run` needs no installation",
            detail=completed.last_lines(),
        )
    )


def _no_pip(completed: Completed) -> ResolveFailed | None:
    if _NO_PIP not in completed.err:
        return None
    return ResolveFailed(
        "The workspace has no pip", hint="leave out `--with pip`, or install pip there first"
    )
