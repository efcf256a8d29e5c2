"""What an installation installs: paths, bundles and environments of a hub, by what was typed."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import prime_home, storage_errors
from prime_cli.core.progress import Progress, Silent
from prime_cli.core.refs import add_extras, read_sha256
from prime_cli.envs.bundles.archive import (
    BUNDLE_SUFFIX,
    CheckedBundle,
    read_manifest,
    require_sha256,
    verify_bundle,
)
from prime_cli.envs.bundles.manifest import NAME
from prime_cli.envs.bundles.platforms import workspace_for_bundle
from prime_cli.envs.bundles.unpacked import UnpackedEnvironment, unpack_bundle
from prime_cli.envs.fetch import FetchedEnvironment, fetch_unpacked, fetch_wheel
from prime_cli.envs.install.dependencies import OpenHub
from prime_cli.envs.install.installed import Origin
from prime_cli.envs.install.installers import Installer
from prime_cli.envs.install.workspace import Workspace
from prime_cli.envs.names import resolve_name
from prime_cli.envs.project.build import build_into_store
from prime_cli.envs.project.folder import (
    ENVIRONMENTS,
    choose_local,
    load_project,
    split_extras_here,
)
from prime_cli.envs.trust import TrustPolicy
from prime_cli.runtime.packages import WheelPackage, installable, read_package, with_extras
from prime_cli.runtime.sources import locked_sources
from prime_cli.wire.locks import Lock

_ZIP = b"PK\x03\x04"
_HEAD = 30
"""Bytes of a zip's local header before the name of its first member (APPNOTE.TXT, 4.3.7)."""


@dataclass(frozen=True)
class InstallOptions:
    """The flags of an installation; `trust` asks about strangers.

    `sha256` pins the one environment or bundle. With `require_signature` files that cannot be
    signed are refused. With `bundled_only` packages come from the bundles of the environments, and
    from nowhere else.
    """

    tool: Installer = Installer.UV
    upgrade: bool = True
    prerelease: bool = False
    offline: bool = False
    environments: Path = ENVIRONMENTS
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    sha256: str | None = None
    require_signature: bool = False
    bundled_only: bool = False


@dataclass(frozen=True)
class InstallItem:
    """One environment to be installed: its wheel, or an editable folder, and where it came from.

    `package` is then the wheel that was built of the folder, to read what it needs. `lock` is the
    one that its hub keeps.
    """

    name: str
    version: str | None
    origin: Origin
    package: WheelPackage
    folder: Path | None = None
    lock: Lock | None = None

    @property
    def target(self) -> str:
        """What the installer is given."""
        if self.folder is None:
            return self.package.target
        return add_extras(str(self.folder), self.package.extras)


Named = str | UnpackedEnvironment | FetchedEnvironment
"""An environment to install: what was typed, or one that is on this disk already."""


@dataclass(frozen=True)
class InstallSources:
    """What is named, and what follows from it for workspace and options.

    `bundle` is set if only its contents are to be shown; then nothing else is `named`.
    """

    workspace: Workspace
    options: InstallOptions
    named: Sequence[Named] = ()
    bundle: CheckedBundle | None = None


def open_sources(
    named: Sequence[str | FetchedEnvironment],
    workspace: Workspace,
    options: InstallOptions,
    *,
    here: Path,
    progress: Progress,
    show_only: bool,
) -> InstallSources:
    """Check what is named against the options, and unpack a bundle unless `show_only`.

    Raises UsageError, BadReference; for a bundle also IntegrityError, ResolveFailed (for another
    platform or Python), NotTrusted, UnsafeContent, Conflict and StorageFailed.
    """
    words = [each for each in named if isinstance(each, str)]
    bundle = _find_bundle(words, here)
    if bundle is None:
        if options.sha256 is not None:
            named = [_pinned(words, options.sha256, options, here)]
        if options.require_signature:
            _refuse_files(words, options, here)
        return InstallSources(workspace, options, named)
    if options.sha256 is not None:
        require_sha256(bundle, read_sha256(options.sha256))
    workspace = workspace_for_bundle(read_manifest(bundle), workspace)
    if show_only:
        return InstallSources(workspace, options, bundle=verify_bundle(bundle, progress))
    options = replace(options, offline=True, bundled_only=True)
    return InstallSources(workspace, options, _unpack(bundle, options.trust, progress))


def check_bundle(word: str, progress: Progress) -> CheckedBundle | None:
    """The bundle that `word` names, verified; None if it names none. Raises as `verify_bundle`."""
    path = Path(word)
    return verify_bundle(path, progress) if is_bundle(path) else None


def is_bundle(path: Path) -> bool:
    """Whether a file begins as a bundle does, or is called like one."""
    if not path.is_file():
        return False
    if path.suffix == BUNDLE_SUFFIX:
        return True
    with storage_errors(path), path.open("rb") as file:
        head = file.read(_HEAD + len(NAME))
    return head.startswith(_ZIP) and head.endswith(NAME.encode())


def _find_bundle(words: Sequence[str], here: Path) -> Path | None:
    """The bundle among `words`, None if there is none; raises UsageError for one among others."""
    if not any(is_bundle(here / word) for word in words):
        return None
    if len(words) > 1:
        raise UsageError(
            "A bundle must be installed separately, from its own wheels",
            hint="run `prime env install` once for each bundle",
        )
    return here / words[0]


def _pinned(words: Sequence[str], sha256: str, options: InstallOptions, here: Path) -> str:
    if len(words) != 1 or _find_here(words[0], options, here)[0] is not None:
        raise UsageError(
            "`--sha256` applies to one environment of a hub, or one bundle",
            hint="pin each of several as `owner/name@version#sha256=HEX`",
        )
    return f"{words[0]}#sha256={read_sha256(sha256)}"


def _refuse_files(words: Iterable[str], options: InstallOptions, here: Path) -> None:
    for word in words:
        if _find_here(word, options, here)[0] is not None:
            raise UsageError(
                f"{word} is on this machine; only hubs and bundles have signatures",
                hint="omit `--require-signature`, or use its name on a hub",
            )


def _find_here(
    word: str, options: InstallOptions, here: Path, progress: Progress | None = None
) -> tuple[Path | None, tuple[str, ...]]:
    """The folder or wheel that `word` names, None for an environment of a hub, and its extras."""
    plain, extras = split_extras_here(word, here)
    found = choose_local(plain, here, progress or Silent(), environments=options.environments)
    return found, extras


def _unpack(file: Path, trust: TrustPolicy, progress: Progress) -> tuple[UnpackedEnvironment, ...]:
    unpacked = unpack_bundle(
        file,
        prime_home(),
        os.environ,
        progress,
        check=lambda bundled: fetch_unpacked(bundled, trust),
    )
    refs = ", ".join(str(each.ref) for each in unpacked.environments)
    progress.say(f"{file.name} brings {refs}; they are now available by these names")
    for data, place in unpacked.data:
        progress.say(f"Its data {data.name} is in {place}")
    return unpacked.environments


def find_item(
    named: Named, options: InstallOptions, hub: OpenHub, here: Path, progress: Progress
) -> InstallItem:
    """Fetch or build what is named; raises NotFound, UsageError, IntegrityError, BuildFailed."""
    if isinstance(named, FetchedEnvironment):
        return fetched_item(named)
    if isinstance(named, UnpackedEnvironment):
        return fetched_item(fetch_unpacked(named, options.trust))
    local, extras = _find_here(named, options, here, progress)
    if local is None:
        ref = resolve_name(hub(), named, progress=progress)
        return fetched_item(
            fetch_wheel(hub(), ref, offline=options.offline, progress=progress, trust=options.trust)
        )
    if local.suffix == ".whl":
        return _with_extras(_wheel_item(local), extras)
    return _with_extras(_folder_item(local, options, progress), extras)


def _with_extras(item: InstallItem, extras: Sequence[str]) -> InstallItem:
    return replace(item, package=with_extras(item.package, extras))


def fetched_item(fetched: FetchedEnvironment) -> InstallItem:
    """An environment whose wheel is on this disk."""
    package = installable(fetched.package, prime_home())
    # The lock knows the commit, the project perhaps only a branch.
    package = replace(package, sources=locked_sources(fetched.lock) or package.sources)
    origin = Origin(ref=str(fetched.ref), sha256=package.sha256)
    facts = package.facts
    return InstallItem(facts.name, facts.version, origin, package, lock=fetched.lock)


def _folder_item(folder: Path, options: InstallOptions, progress: Progress) -> InstallItem:
    project = load_project(folder)
    built = build_into_store(project, prime_home(), progress, offline=options.offline)
    origin = Origin(path=str(folder.resolve()))
    return InstallItem(project.name, project.version, origin, read_package(built), folder)


def _wheel_item(path: Path) -> InstallItem:
    package = installable(read_package(path), prime_home())
    origin = Origin(sha256=package.sha256, path=str(path.resolve()))
    return InstallItem(package.facts.name, package.facts.version, origin, package)
