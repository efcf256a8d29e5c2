"""How prime itself is installed, and the commands that add to it or update it."""

import json
import os
import shlex
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import metadata
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import url2pathname

from prime_cli.core.errors import UsageError

DISTRIBUTION = "prime-cli"

CHECKOUT = "./prime"
"""What documents and hints install from (docs/installation.md) where prime does not know its own
source. Never the bare name: no index has prime, so whoever registers it there could."""

Command = tuple[str, ...]
"""A program and its arguments."""


class Manager(StrEnum):
    """What manages the environment that prime is in."""

    UV_TOOL = "uv tool"
    PIPX = "pipx"
    VENV = "a virtual environment"
    SYSTEM = "the system's Python"
    MANAGED = "an externally managed Python"
    """One in which pip refuses to install (PEP 668)."""


@dataclass(frozen=True)
class Installation:
    """An installation of prime.

    `prefix` is the environment's folder and `python` its interpreter. `project` is the checkout
    that it was installed from, None for an index; `url` is the direct reference of PEP 508 if it
    came from a repository or a file. `extras` and `others` (words of uv, as `--with httpx`) were
    asked for besides, as far as the manager keeps them. `environ` and `here` decide how commands
    are shortened.
    """

    manager: Manager
    prefix: Path
    python: Path
    project: Path | None = None
    is_editable: bool = False
    url: str | None = None
    extras: tuple[str, ...] = ()
    others: Command = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    here: Path | None = None

    @property
    def knows_source(self) -> bool:
        """Whether an update finds it: uv and pipx have noted the source of what they manage."""
        return bool(self.project or self.url or self.manager in {Manager.UV_TOOL, Manager.PIPX})

    def add_extra(self, extra: str) -> Command:
        """The command that adds one of prime's extras; what is there stays."""
        if self.manager is Manager.UV_TOOL:
            return self._uv_tool((extra,), ())
        if self.manager is Manager.PIPX:
            return ("pipx", "install", "--force", *self._source((*self.extras, extra)))
        if self.manager is Manager.MANAGED:
            return ("uv", "tool", "install", *self._source((extra,)))
        return (*self._installer(), *self._source((extra,)))

    def add_package(self, requirement: str, *, again: bool = False) -> Command:
        """The command that adds a package beside prime; `again` installs over one that is there."""
        if self.manager is Manager.UV_TOOL:
            return self._uv_tool((), (requirement,), *(["--reinstall"] if again else []))
        if self.manager is Manager.PIPX:
            return ("pipx", "inject", *(["--force"] if again else []), DISTRIBUTION, requirement)
        if self.manager is Manager.MANAGED:
            return self._uv_tool((), (requirement,))
        return (*self._installer(), *([self._reinstall_flag] if again else []), requirement)

    def reinstall(self) -> Command:
        """The command that installs the same again, over files that are damaged."""
        if self.manager is Manager.UV_TOOL:
            return self._uv_tool((), (), "--reinstall")
        if self.manager is Manager.PIPX:
            return ("pipx", "reinstall", DISTRIBUTION)
        if self.manager is Manager.MANAGED:
            return ("uv", "tool", "install", *self._source(()))
        return (*self._installer(), self._reinstall_flag, *self._source(self.extras))

    def update(self) -> tuple[Command, ...]:
        """The commands that update prime, in order: for a checkout, git first."""
        pull: tuple[Command, ...] = ()
        if self.project is not None and (self.project / ".git").exists():
            place = self._short(self.project)
            pull = (("git", *(["-C", place] if place != "." else []), "pull", "--ff-only"),)
        return (*pull, self._update())

    def _update(self) -> Command:
        if self.manager is Manager.UV_TOOL:
            again = ["--reinstall"] if self.project is not None else []
            return ("uv", "tool", "upgrade", *again, DISTRIBUTION)
        if self.manager is Manager.PIPX:
            return ("pipx", "upgrade", DISTRIBUTION)
        if self.manager is Manager.MANAGED:
            return ("uv", "tool", "install", *self._source(()))
        if self.project is not None:
            only = f"--reinstall-package={DISTRIBUTION}" if self._uv() else "--upgrade"
            return (*self._installer(), only, *self._source(self.extras))
        return (*self._installer(), "--upgrade", *self._source(self.extras))

    def _uv_tool(self, extras: Sequence[str], others: Sequence[str], *flags: str) -> Command:
        """`uv tool install` replaces what was asked for before, so that is said again."""
        new = [each for each in others if each not in self.others]
        beside = [*self.others, *(word for each in new for word in ("--with", each))]
        return ("uv", "tool", "install", *flags, *self._source((*self.extras, *extras)), *beside)

    def _source(self, extras: Sequence[str]) -> Command:
        """Prime with `extras`, as the words of an installer."""
        names = f"[{','.join(sorted({*extras}))}]" if extras else ""
        if self.project is not None:
            flag = ["--editable"] if self.is_editable else []
            return (*flag, f"{self._short(self.project)}{names}")
        return (f"{DISTRIBUTION}{names} @ {self.url}" if self.url else f"{CHECKOUT}{names}",)

    @property
    def _reinstall_flag(self) -> str:
        return "--force-reinstall" if self._uv() is None else "--reinstall"

    def _installer(self) -> Command:
        """What installs into `prefix`: uv, which needs no pip there, else pip."""
        uv = self._uv()
        if uv is None:
            return (self._short(self.python), "-m", "pip", "install")
        active = self.environ.get("VIRTUAL_ENV")
        if active and Path(active) == self.prefix:
            return (uv, "pip", "install")
        return (uv, "pip", "install", "--python", self._short(self.python))

    def _uv(self) -> str | None:
        """The uv on PATH, else the one that prime depends on."""
        if shutil.which("uv", path=self.environ.get("PATH")):
            return "uv"
        own = self.python.with_name("uv.exe" if sys.platform == "win32" else "uv")
        return self._short(own) if own.exists() else None

    def _short(self, path: Path) -> str:
        """As a person types it: relative to where they are, if it is below that."""
        try:
            inside = path.relative_to(self.here or Path.cwd())
        except (OSError, ValueError):
            return str(path)
        shown = str(inside)
        # `prime[tui]` would be a package, `./prime[tui]` is a folder.
        return shown if os.sep in shown or shown == "." else os.path.join(".", shown)  # noqa: PTH118


def this_installation() -> Installation:
    """The one that runs."""
    try:
        origin = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        origin = None
    return read_installation(
        Path(sys.prefix), Path(sys.executable), json.loads(origin) if origin else {}
    )


def read_installation(prefix: Path, python: Path, origin: Mapping[str, Any]) -> Installation:
    """The installation in `prefix`; `origin` is its direct_url.json (PEP 610), {} for an index."""
    manager, extras, others = _manager(prefix)
    url = urlsplit(str(origin.get("url", "")))
    is_folder = url.scheme == "file" and "dir_info" in origin
    return Installation(
        manager,
        prefix,
        python,
        project=Path(url2pathname(url.path)) if is_folder else None,
        is_editable=is_folder and bool(origin["dir_info"].get("editable")),
        url=_reference(origin),
        extras=extras,
        others=others,
    )


def _manager(prefix: Path) -> tuple[Manager, tuple[str, ...], Command]:
    """Who made `prefix`, and the extras and others that they keep of what was asked for."""
    receipt, pipx = prefix / "uv-receipt.toml", prefix / "pipx_metadata.json"
    if receipt.is_file():
        return Manager.UV_TOOL, *_in_receipt(receipt)
    if pipx.is_file():
        return Manager.PIPX, _in_pipx(pipx), ()
    if (prefix / "pyvenv.cfg").is_file():
        return Manager.VENV, (), ()
    mark = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return (Manager.MANAGED if mark.is_file() else Manager.SYSTEM), (), ()


def _in_receipt(path: Path) -> tuple[tuple[str, ...], Command]:
    """The extras and others in a uv-receipt.toml; none where it cannot be read."""
    try:
        asked = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["requirements"]
        own = chain.from_iterable(e.get("extras", ()) for e in asked if e["name"] == DISTRIBUTION)
        others = chain.from_iterable(_of_receipt(e) for e in asked if e["name"] != DISTRIBUTION)
        return tuple(sorted(own)), tuple(others)
    except (OSError, ValueError, KeyError, TypeError):
        return (), ()


def _of_receipt(each: Mapping[str, Any]) -> Command:
    """The words that ask uv for a requirement, as uv notes it."""
    extras = f"[{','.join(each['extras'])}]" if each.get("extras") else ""
    if "editable" in each:
        return ("--with-editable", f"{each['editable']}{extras}")
    file = each.get("directory") or each.get("path")
    url = Path(file).absolute().as_uri() if file else each.get("url")
    if "git" in each:
        url = _git_url(each["git"])
    marker = f" ; {each['marker']}" if "marker" in each else ""
    place = f" @ {url}" if url else each.get("specifier", "")
    return ("--with", f"{each['name']}{extras}{place}{marker}")


def _git_url(noted: str) -> str:
    """The direct reference for what uv notes as `https://…?subdirectory=x&tag=v1#commit`."""
    parts = urlsplit(noted)
    asked = dict(parse_qsl(parts.query))
    revision = next((asked[kind] for kind in ("rev", "tag", "branch") if kind in asked), "")
    within = f"#subdirectory={asked['subdirectory']}" if "subdirectory" in asked else ""
    plain = parts._replace(query="", fragment="").geturl()
    return f"git+{plain}{f'@{revision}' if revision else ''}{within}"


def _in_pipx(path: Path) -> tuple[str, ...]:
    """The extras in a pipx_metadata.json; none where it cannot be read."""
    # Takes 8 ms to import, which every command that asks for one of our extras would pay.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        asked = json.loads(path.read_text(encoding="utf-8"))["main_package"]["package_or_url"]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    _, bracket, rest = str(asked).rpartition("[")
    names = rest.removesuffix("]") if bracket and rest.endswith("]") else ""
    with suppress(InvalidRequirement):
        return tuple(sorted(Requirement(f"{DISTRIBUTION}[{names}]").extras))
    return ()


def _reference(origin: Mapping[str, Any]) -> str | None:
    if "archive_info" in origin:
        return str(origin["url"])
    vcs = origin.get("vcs_info")
    if not isinstance(vcs, dict):
        return None
    revision = vcs.get("requested_revision")
    return f"{vcs.get('vcs')}+{origin.get('url')}{f'@{revision}' if revision else ''}"


def install_command(extra: str) -> str:
    """The command that adds an extra to this prime, as a person types it."""
    return shlex.join(this_installation().add_extra(extra))


def package_command(requirement: str, *, again: bool = False) -> str:
    """The command that adds a package to this prime's environment, as a person types it."""
    return shlex.join(this_installation().add_package(requirement, again=again))


def require(extra: str, purpose: str, *modules: str) -> None:
    """Raise UsageError with the install command unless all `modules` can be imported.

    `purpose` begins the sentence, as in "Writing Parquet"; `extra` is that of pyproject.toml.
    Nothing is imported.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"{purpose} needs {' and '.join(missing)}, which {verb} not installed",
            hint=f"install what is missing: `{install_command(extra)}`",
        )
